package main

import (
	"encoding/json"
	"log"
	"net/http"
)

// operators returns the handler for operators who are asked to unblock a user. They name an address and a user, as the
// rule's key does, and need not know how that is stored.
func (s *service) operators() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /logins/{address}/{user}", s.show)
	mux.HandleFunc("DELETE /logins/{address}/{user}", s.unblock)
	return mux
}

func (s *service) show(w http.ResponseWriter, r *http.Request) {
	v, err := s.logins.Peek(r.Context(), loginRule, r.PathValue("address"), canonical(r.PathValue("user")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway) // operators may see what is wrong
		return
	}
	w.Header().Set("Content-Type", "application/json")
	standing := map[string]any{
		"limit": v.Limit, "left": v.Remaining, "blocked": !v.Allowed,
		"next_try_in": v.RetryAfter.String(), "forgotten_in": v.ResetAfter.String(),
	}
	if err := json.NewEncoder(w).Encode(standing); err != nil {
		log.Print("login: ", err)
	}
}

func (s *service) unblock(w http.ResponseWriter, r *http.Request) {
	if err := s.logins.Reset(r.Context(), loginRule, r.PathValue("address"), canonical(r.PathValue("user"))); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
