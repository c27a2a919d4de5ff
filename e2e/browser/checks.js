(() => {
  const label = (e) => `<${e.tagName.toLowerCase()}${e.id ? ' id=' + e.id : ''} ` +
    `class="${e.getAttribute('class') || ''}">${(e.textContent || '').trim().slice(0, 40)}`;
  const shown = (e) =>
    e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && e.getClientRects().length > 0;

  // Colours: [red, green, blue, alpha], the first three 0 to 255. The canvas reads whatever notation CSS knows.
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const color = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const background = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = color(getComputedStyle(at).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), color('Canvas'));
  };
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((byte) => byte / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const contrast = (e, paint) => { const b = background(e); return ratio(over(color(paint), b), b); };

  const texts = () => {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const e = walk.currentNode.parentElement;
      if (walk.currentNode.data.trim() && shown(e) && !e.closest('title, desc')) found.push(e);
    }
    return [...new Set(found)];
  };

  const lowContrast = (graphics) => {
    const faults = [];
    for (const e of texts()) {
      const s = getComputedStyle(e);
      const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
      const got = contrast(e, e instanceof SVGElement ? s.fill : s.color);
      if (got < (large ? 3 : 4.5)) faults.push(`${got.toFixed(2)}: ${label(e)}`);
    }
    for (const e of graphics ? document.querySelectorAll(graphics) : []) {
      const s = getComputedStyle(e);
      if (!shown(e)) continue;
      const got = Math.max(...[s.fill, s.stroke].filter((p) => p !== 'none').map((p) => contrast(e, p)), 0);
      if (got < 3) faults.push(`${got.toFixed(2)}: ${label(e)}`);
    }
    return faults;
  };

  const scrolls = (e) => e && e !== document.documentElement && (e !== document.body &&
    ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const cut = () => {
    const width = document.documentElement.clientWidth, faults = [];
    const all = document.documentElement.scrollWidth;
    if (all > width) faults.push(`the page is ${all} wide`);
    for (const e of texts()) {
      const box = e.getBoundingClientRect();
      if (e.classList.contains('skip') || scrolls(e)) continue;
      if (box.right > width + 1 || box.left < -1) faults.push(`cut at ${Math.round(box.right)}: ${label(e)}`);
      const size = parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement ? e.getScreenCTM().a : 1);
      if (size < 9) faults.push(`${size.toFixed(1)} pixels: ${label(e)}`);
    }
    return faults;
  };

  const textsOf = (elements) => elements.map((e) => e?.textContent || '').join('').trim();
  const referred = (e, attribute) => (e.getAttribute(attribute) || '').split(/\s+/).filter((id) => id);
  const named = (e) => (e.getAttribute('aria-label') || '').trim() ||
    textsOf(referred(e, 'aria-labelledby').map((id) => document.getElementById(id))) || textsOf([...(e.labels || [])]);
  const nameless = () => {
    const faults = [], all = (s) => [...document.querySelectorAll(s)];
    for (const e of all('a[href], button, summary')) {
      if (!named(e) && !e.textContent.trim()) faults.push('no name: ' + label(e));
    }
    for (const e of all('input:not([type=hidden]), select, textarea, nav, [role=region], [role=img], svg, section')) {
      if (e.getAttribute('aria-hidden') !== 'true' && !named(e)) faults.push('no name: ' + label(e));
    }
    for (const e of all('img:not([alt])')) faults.push('no alt: ' + label(e));
    for (const e of all('table')) {
      if (!e.caption?.textContent.trim() && !named(e)) faults.push('no caption: ' + label(e));
    }
    for (const e of all('th')) if (!e.scope) faults.push('no scope: ' + label(e));
    const ids = all('[id]').map((e) => e.id);
    ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => faults.push('twice: ' + id));
    for (const e of all('[aria-labelledby], [aria-describedby], a[href^="#"]')) {
      const ids = referred(e, 'aria-labelledby').concat(referred(e, 'aria-describedby'));
      for (const id of ids.concat((e.getAttribute('href') || '').slice(1))) {
        if (id && !document.getElementById(id)) faults.push('no such id: ' + id);
      }
    }
    let before = 0;
    for (const h of all('h1, h2, h3, h4, h5, h6')) {
      if (h.tagName[1] > before + 1) faults.push('skips a level: ' + label(h));
      before = +h.tagName[1];
    }
    if (!document.documentElement.lang) faults.push('no lang');
    if (!document.title.trim()) faults.push('no title');
    if (all('h1').length !== 1) faults.push(`${all('h1').length} h1`);
    if (all('main').length !== 1) faults.push(`${all('main').length} main`);
    return faults;
  };

  const focusable = () => [...document.querySelectorAll('a[href], button:not(:disabled), ' +
    'input:not([type=hidden]):not(:disabled), select, textarea, summary, [tabindex="0"]')].filter(shown);
  const focus = () => {
    const e = document.activeElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
    const onScreen = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    const marked = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 || s.boxShadow !== 'none';
    return { Name: label(e), Index: focusable().indexOf(e), Visible: onScreen && marked };
  };

  return { lowContrast, cut, nameless, focusable, focus };
})()
