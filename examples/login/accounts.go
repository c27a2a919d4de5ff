package main

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

// pbkdf2Rounds is what OWASP asks of PBKDF2 with HMAC-SHA-256.
const pbkdf2Rounds = 600_000

// accounts stands for a user database.
type accounts struct {
	rounds int
	byUser map[string]account
	dummy  account // checked in place of accounts that do not exist; its password is unknown
}

// account is what is stored of a password: enough to check it, not enough to recover it.
type account struct{ salt, hash []byte }

func newAccounts(rounds int, passwords map[string]string) (*accounts, error) {
	a := &accounts{rounds: rounds, byUser: make(map[string]account, len(passwords))}
	for user, password := range passwords {
		var err error
		if a.byUser[user], err = a.account(password); err != nil {
			return nil, err
		}
	}
	var err error
	a.dummy, err = a.account(rand.Text())
	return a, err
}

func (a *accounts) account(password string) (account, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	hash, err := a.hash(password, salt)
	return account{salt, hash}, err
}

// check reports whether password is that of user. It takes as long for names that do not exist as for those that do,
// and as long for a password that is nearly right as for any other, so its duration reveals nothing.
func (a *accounts) check(_ context.Context, user, password string) (bool, error) {
	acc, exists := a.byUser[user]
	if !exists {
		acc = a.dummy
	}
	hash, err := a.hash(password, acc.salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(hash, acc.hash) == 1, nil
}

func (a *accounts) hash(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, a.rounds, sha256.Size)
}
