package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

type service struct {
	addresses, logins *httplimit.Middleware
	check             func(ctx context.Context, user, password string) (bool, error)
}

// loginRule is the name by which operators reach the limit on failures.
const loginRule = "login"

// newService makes a service whose refusals are written into logger.
func newService(
	check func(ctx context.Context, user, password string) (bool, error), logger *slog.Logger,
) (*service, error) {
	client := httplimit.ClientIP()
	observer := refusals{logger, client}
	addresses, err := httplimit.New(httplimit.Config{Observer: observer, Rules: []httplimit.Rule{
		{Name: "address", Key: client, Limit: limiter.PerMinute(30)},
	}})
	if err != nil {
		return nil, err
	}
	logins, err := httplimit.New(httplimit.Config{Observer: observer, Rules: []httplimit.Rule{{
		Name: loginRule,
		// By name alone, a stranger could lock a user out.
		Key: httplimit.Compose(client, httplimit.KeyFunc(claimedUser)),
		// Exact at every moment, which costs memory in proportion to the limit: little, with five.
		Limit: limiter.Limit{Requests: 5, Window: 15 * time.Minute, Algorithm: limiter.SlidingLog},
		// Spent before the password is checked, and refunded unless it was wrong: of a hundred guesses at the
		// same time only five are checked.
		CountStatus: func(status int) bool { return status == statusWrong },
		// The client has not proved to be this user, so it does not see how many attempts are left.
		Private: true,
	}}})
	return &service{addresses: addresses, logins: logins, check: check}, err
}

// statusWrong is 403: 401 would ask for HTTP authentication (RFC 9110, section 15.5.2), which this is not.
const statusWrong = http.StatusForbidden

// statusLeft is what nginx logs for a client that has left. It always counts.
const statusLeft = 499

// public returns the handler for clients. The limit by address comes first, so that a flood costs
// neither the reading of bodies nor the hashing of passwords.
func (s *service) public() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /login", withCredentials(s.logins.Handler(http.HandlerFunc(s.login))))
	return s.addresses.Handler(mux)
}

func (s *service) login(w http.ResponseWriter, r *http.Request) {
	c, _ := r.Context().Value(credentialsKey{}).(credentials)
	right, err := s.check(r.Context(), c.User, c.Password)
	switch {
	case r.Context().Err() != nil:
		// The client has left, or has closed its half of the connection and still reads. An attempt without an
		// answer counts, so neither buys any tries.
		w.WriteHeader(statusLeft)
	case err != nil:
		log.Print("login: ", err)
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	case !right:
		// The same words whether the name exists or not.
		http.Error(w, "wrong user or password", statusWrong)
	default:
		fmt.Fprintln(w, "welcome")
	}
}

type (
	credentials    struct{ User, Password string }
	credentialsKey struct{}
)

// withCredentials reads the body. That can be done once only, so the limiter's key and the handler find in the context
// what the body said: the user who is counted is the user who is checked.
func withCredentials(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readCredentials(w, r)
		if err != nil {
			http.Error(w, "want user and password, as a form or as JSON", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), credentialsKey{}, c)))
	})
}

func readCredentials(w http.ResponseWriter, r *http.Request) (credentials, error) {
	const enough = 4 << 10 // for any name and password
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, enough))
	if err != nil {
		return credentials{}, err
	}
	var c credentials
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "application/json" {
		err = json.Unmarshal(body, &c)
	} else {
		var form url.Values
		form, err = url.ParseQuery(string(body))
		c = credentials{User: form.Get("user"), Password: form.Get("password")}
	}
	c.User = canonical(c.User)
	if err == nil && c.User == "" {
		err = errors.New("login: no user")
	}
	return c, err
}

// canonical is the one spelling under which a user is looked up and counted: were Ann and ann one account but two
// keys, each capital would bring five more guesses.
func canonical(user string) string { return strings.ToLower(strings.TrimSpace(user)) }

// claimedUser is the name in the body. A request without one never gets here.
func claimedUser(r *http.Request) (string, error) {
	c, ok := r.Context().Value(credentialsKey{}).(credentials)
	if !ok {
		return "", httplimit.ErrNoKey
	}
	return c.User, nil
}
