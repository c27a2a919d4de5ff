package main

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
)

type plan string

const (
	free      plan = "free"
	pro       plan = "pro"
	unlimited plan = "unlimited"
)

// tenant is what authentication puts into the context under tenantKey.
type tenant struct {
	name string
	plan plan
}

// String is what the tenant is counted by: the name, whatever the plan and whichever of its keys.
func (t tenant) String() string { return t.name }

type tenantKey struct{}

// tenants stands for a database. Safe for concurrent use.
type tenants struct {
	names map[[sha256.Size]byte]string // by the key's hash, so the duration of a look-up reveals nothing about keys
	mu    sync.Mutex
	plans map[string]plan // by name
}

// newTenants takes the tenants by their keys. A tenant with several keys has one plan.
func newTenants(byKey map[string]tenant) *tenants {
	t := &tenants{names: make(map[[sha256.Size]byte]string), plans: make(map[string]plan)}
	for key, who := range byKey {
		t.names[sha256.Sum256([]byte(key))] = who.name
		t.plans[who.name] = who.plan
	}
	return t
}

// authenticate lets tenants pass and puts them into the context of their requests.
func (t *tenants) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		name, ok := t.names[sha256.Sum256([]byte(key))]
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want the key of a tenant", http.StatusUnauthorized)
			return
		}
		who := tenant{name, t.plan(name)}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, who)))
	})
}

func (t *tenants) plan(name string) plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plans[name]
}

// change puts the tenant on another plan, from the next request on. Payment is left out.
func (t *tenants) change(w http.ResponseWriter, r *http.Request) {
	to := plan(r.PathValue("plan"))
	if to != free && to != pro && to != unlimited {
		http.Error(w, "want free, pro or unlimited", http.StatusNotFound)
		return
	}
	who, _ := r.Context().Value(tenantKey{}).(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plans[who.name] = to
	w.WriteHeader(http.StatusNoContent)
}
