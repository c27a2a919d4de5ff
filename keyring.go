package httplimit

import (
	"errors"
	"fmt"
)

// keyring makes the Charge.Key of the requests that one rule counts. Safe for concurrent use.
type keyring struct {
	key, noKey recipe
	nobody     string // who has neither identity
}

// compileKey checks the Key and the NoKey of a rule and makes them ready. field and noKeyField are their paths in
// the Config. warn is called at most once per code for each key inside, from any goroutine.
func compileKey(field, noKeyField string, key, noKey Key, keySecret []byte, warn func(code, message string)) (*keyring, []*ConfigError) {
	if noKey == nil {
		noKey = ClientIP()
	}
	hash := newKeyHasher(keySecret)
	k := &keyring{}
	c := keyCompiler{warn: warn}
	k.key = c.recipe(field, key, "", hash)
	k.noKey = c.recipe(noKeyField, noKey, markNoKey, hash)
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	k.nobody = markNobody
	if hash.keyed() {
		k.nobody = hash.key([]keyItem{{mark: markNobody}})
	}
	return k, nil
}

// find returns the Charge.Key of a request. skip is true if the key said [ErrSkip]. cause is why NoKey decided,
// where that was another error than [ErrNoKey]; it is for the log, never for clients.
func (k *keyring) find(r Request) (key string, skip bool, cause error) {
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
		return "", fmt.Errorf("httplimit: the key of this rule has %d parts, not %d", want, len(parts))
	}
	items, _ := k.key.root.place(nil, parts)
	return k.key.write(items), nil
}

// recipe is one Key made ready.
type recipe struct {
	root   keyNode
	mark   string // before all else; "" for none
	hashed bool
	hash   *keyHasher
}

func (c *keyCompiler) recipe(field string, key Key, mark string, hash *keyHasher) recipe {
	c.secret = false
	root := c.node(field, key, false)
	return recipe{root: root, mark: mark, hashed: c.secret || hash.keyed(), hash: hash}
}

func (p *recipe) find(r Request) (string, error) {
	if p.root.leaf != nil && p.mark == "" && !p.hashed {
		found, err := p.root.leaf.find(r)
		if err != nil {
			return "", err
		}
		if found.isSafe() {
			return found.text, nil
		}
		return p.write([]keyItem{{found: found}}), nil
	}
	var room [8]keyItem // more than any sensible key has: longer lists go to the heap
	items := room[:0]
	if p.mark != "" {
		items = append(items, keyItem{mark: p.mark})
	}
	items, err := p.root.gather(items, r)
	if err != nil {
		return "", err
	}
	return p.write(items), nil
}

func (p *recipe) write(items []keyItem) string {
	if !p.hashed {
		var room [maxKey]byte
		if text, fits := appendPlain(room[:0], items); fits {
			return string(text)
		}
	}
	return p.hash.key(items)
}
