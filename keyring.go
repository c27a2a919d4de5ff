package httplimit

import (
	"errors"
	"fmt"
)

// keyring makes the Charge.Key of the requests that one rule counts. Safe for concurrent use.
type keyring struct {
	key, noKey recipe
	nobody     string          // who has neither identity
	peer       *clientResolver // key, if it is that alone, so that an IPv4 peer is a key as it stands
	warnings   *addressWarnings
}

// compileKey checks the Key and the NoKey of a rule and makes them ready. field and noKeyField are their paths in
// the Config. warn is called at most once per code, from any goroutine.
func compileKey(field, noKeyField string, key, noKey Key, keySecret []byte, warn func(code, message string)) (*keyring, []*ConfigError) {
	if noKey == nil {
		noKey = ClientIP()
	}
	drafts := newDraftPool(keySecret)
	c := keyCompiler{warnings: newAddressWarnings(warn)}
	k := &keyring{key: c.recipe(field, key, "", drafts), noKey: c.recipe(noKeyField, noKey, markNoKey, drafts), warnings: c.warnings}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	if k.key.alone() {
		k.peer, _ = k.key.root.leaf.(*clientResolver)
	}
	nobody := recipe{hashed: drafts.keyed(), drafts: drafts}
	d := drafts.take()
	d.items = append(d.items, keyItem{mark: markNobody})
	k.nobody = nobody.write(d)
	drafts.give(d)
	return k, nil
}

// find returns the Charge.Key of a request. skip is true if the key said [ErrSkip]. cause is why NoKey decided,
// where that was another error than [ErrNoKey]; it is for the log, never for clients.
func (k *keyring) find(r Request) (key string, skip bool, cause error) {
	if k.peer != nil {
		// The commonest key by far. To go through its identity would take half as long again.
		if key, ok := k.peer.plainPeer(r); ok {
			return key, false, nil
		}
	}
	key, err := k.key.find(r)
	if err == nil {
		return key, false, nil
	}
	if errors.Is(err, ErrSkip) {
		return "", true, nil
	}
	cause = unexpected(err)
	key, err = k.noKey.find(r)
	if err == nil {
		return key, false, cause
	}
	if errors.Is(err, ErrSkip) {
		return "", true, nil
	}
	return k.nobody, false, errors.Join(cause, unexpected(err))
}

func unexpected(err error) error {
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	return err
}

// of returns the Charge.Key for identities that were found elsewhere: before escaping or hashing, in the order of
// Compose. FirstOf takes its first key, Everyone no part. An address stands for its bucket.
func (k *keyring) of(parts []string) (string, error) {
	if want := k.key.root.parts(); want != len(parts) {
		return "", fmt.Errorf("got %d parts, want %d: one for each identity that its Key looks for", len(parts), want)
	}
	d := k.key.drafts.take()
	defer k.key.drafts.give(d)
	if _, err := k.key.root.place(d, parts); err != nil {
		return "", err
	}
	return k.key.write(d), nil
}

// recipe is one Key made ready.
type recipe struct {
	root   keyNode
	mark   string // before all else; "" for none
	hashed bool
	drafts *draftPool
}

func (c *keyCompiler) recipe(field string, key Key, mark string, drafts *draftPool) recipe {
	c.secret = false
	root := c.node(field, key, false)
	return recipe{root: root, mark: mark, hashed: c.secret || drafts.keyed(), drafts: drafts}
}

// alone tells whether what the one leaf finds may be a key as it stands.
func (p *recipe) alone() bool { return p.root.leaf != nil && p.mark == "" && !p.hashed }

func (p *recipe) find(r Request) (string, error) {
	if p.alone() {
		found, err := p.root.leaf.find(r)
		if err != nil {
			return "", err
		}
		if key, ok := found.alone(); ok {
			return key, nil
		}
		d := p.drafts.take()
		defer p.drafts.give(d)
		d.items = append(d.items, keyItem{found: found})
		return p.write(d), nil
	}
	d := p.drafts.take()
	defer p.drafts.give(d)
	if p.mark != "" {
		d.items = append(d.items, keyItem{mark: p.mark})
	}
	if err := p.root.gather(d, r); err != nil {
		return "", err
	}
	return p.write(d), nil
}

func (p *recipe) write(d *keyDraft) string {
	if !p.hashed {
		var room [maxKey]byte
		if text, fits := appendPlain(room[:0], d.items); fits {
			return string(text)
		}
	}
	return d.hash()
}
