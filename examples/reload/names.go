package main

import (
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/policy"
)

// names is what only this program knows and the policy refers to.
func names() policy.Names {
	return policy.Names{
		Keys: map[string]httplimit.Key{"tenant": httplimit.KeyFunc(tenantOf)},
		Plan: planOf,
	}
}

// tenants are those that have a key, and their plans. A service asks its database.
var tenants = map[string]struct{ name, plan string }{
	"initech-key": {"initech", "pro"},
	"hooli-key":   {"hooli", "free"},
}

// tenantOf returns whose key a request has. One that nobody has is no identity: the next part of the rule's key counts.
func tenantOf(r *http.Request) (string, error) {
	tenant, known := tenants[r.Header.Get("X-API-Key")]
	if !known {
		return "", httplimit.ErrNoKey
	}
	return tenant.name, nil
}

func planOf(r *http.Request) (string, error) { return tenants[r.Header.Get("X-API-Key")].plan, nil }
