// The page is right without this script: it only keeps the figures moving. Each second the service sends the HTML of
// what has changed; it takes the place of what was there, element by element, so that focus and selection stay.

const live = document.getElementById("live");
const liveText = document.getElementById("live-text");
const liveTime = document.getElementById("live-time"); // apart, as a change of the other is read aloud
const say = (state, text, time = "") => {
  if (live.dataset.state !== state) live.dataset.state = state;
  if (liveText.textContent !== text) liveText.textContent = text;
  liveTime.textContent = time;
};

const parse = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html; // made by the service's own templates, which escape what others wrote
  return template.content;
};

function become(old, now) {
  if (old.hasAttribute("data-keep") || now.hasAttribute("data-keep")) return;
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  becomeInside(old, now);
}

function becomeInside(old, now) {
  const from = [...old.childNodes], to = [...now.childNodes];
  for (let i = 0; i < Math.max(from.length, to.length); i++) {
    const a = from[i], b = to[i];
    if (!b) a.remove();
    else if (!a) old.append(b);
    else if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) a.replaceWith(b);
    else if (a.nodeType !== Node.ELEMENT_NODE) { if (a.data !== b.data) a.data = b.data; }
    else become(a, b);
  }
}

// A list of clients stands still while somebody points at it or has the focus in it: nobody clicks a moving target.
const waiting = new Map();
const held = (element) =>
  element.hasAttribute("data-hold") && (element.matches(":hover") || element.contains(document.activeElement));

function update(id, html) {
  const element = document.getElementById(id);
  if (!element) return;
  const hold = held(element);
  element.classList.toggle("held", hold);
  if (hold) { waiting.set(id, html); return; }
  waiting.delete(id);
  becomeInside(element, parse(html));
}
const release = () => { for (const [id, html] of [...waiting]) update(id, html); };
addEventListener("pointerout", () => setTimeout(release, 50));
addEventListener("focusout", () => setTimeout(release, 50));

const clock = () => new Date().toLocaleTimeString("en-GB");
const events = document.body.dataset.events;
let source, timer;
const after = (milliseconds, f) => { clearTimeout(timer); timer = setTimeout(f, milliseconds); };

// Over HTTP/1.1 a browser has six connections to a host, for all its tabs, and a stream takes one for as long as it
// goes on: so only a page that can be seen has one.
function connect() {
  clearTimeout(timer);
  source?.close();
  const state = live.dataset.state;
  if (document.hidden) {
    if (state !== "lost") say("paused", "paused while nobody sees it");
    return;
  }
  if (state === "paused") say("paused", "catching up");
  source = new EventSource(events);
  source.onmessage = ({ data }) => {
    const { time, parts } = JSON.parse(data);
    for (const { id, html } of parts) update(id, html);
    say("live", "live", time);
    alive();
  };
  source.addEventListener("full", () => {
    source.close();
    say("full", "too many are looking (16): this page does not move");
    after(20000, connect);
  });
  source.onerror = lost;
  alive();
}

let since;
function lost() {
  if (live.dataset.state !== "lost") since = clock();
  say("lost", "no connection since " + since + ", trying again");
  after(source.readyState === EventSource.CLOSED ? 2000 : 15000, connect);
}

// A connection can be dead without an error: there is something to hear each second.
function alive() {
  after(8000, () => { lost(); connect(); });
}

// What was looked up stands in no address: it is asked for again by its form.
let asking;
async function lookAgain() {
  clearTimeout(asking);
  if (document.hidden) return;
  try {
    const form = document.getElementById("again");
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("found");
    if (answer.ok && found) becomeInside(document.getElementById("found"), found);
  } catch { /* the stream says that there is no connection */ }
  clearTimeout(asking);
  asking = setTimeout(lookAgain, 3000);
}

if (events) {
  say("lost", "connecting");
  since = clock();
  connect();
  document.addEventListener("visibilitychange", connect);
}
if (document.getElementById("again")) {
  asking = setTimeout(lookAgain, 3000);
  document.addEventListener("visibilitychange", lookAgain);
}
