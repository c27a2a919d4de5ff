package console

import (
	"encoding/json"
	"net/http"
)

// answerJSON writes v.
func answerJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		answerText(w, http.StatusInternalServerError, "This answer could not be made.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

type apiError struct {
	Error string `json:"error"`
}

func (c *Console) apiOverview(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, c.snapshot())
}

// ruleAnswer is a rule with its clients and what can be asked about it.
type ruleAnswer struct {
	*ruleRow
	Clients clientList `json:"refusedClients"`
	Near    []client   `json:"nearLimit"`
	Stores  []string   `json:"stores"`
	Parts   *keyShape  `json:"parts"` // null: it is not watched
}

func (c *Console) apiRule(w http.ResponseWriter, r *http.Request) {
	p := c.snapshot().rulePage(r.URL.Query().Get("id"))
	if p == nil {
		answerJSON(w, http.StatusNotFound, apiError{errNoRule.Error()})
		return
	}
	answerJSON(w, http.StatusOK, ruleAnswer{p.Row, p.Refused, p.Near, p.Stores, p.Shape})
}

func (c *Console) apiStores(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, c.snapshot().Stores)
}

func (c *Console) apiConfig(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, c.configTexts(c.snapshot()))
}

func (c *Console) apiActivity(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, c.acts.list())
}

func (c *Console) apiClient(w http.ResponseWriter, r *http.Request) {
	o := c.snapshot()
	q, err := c.queryOf(r, o.watch)
	if err != nil {
		answerJSON(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	answerJSON(w, http.StatusOK, c.lookUp(r.Context(), o, q))
}

func (c *Console) apiReset(w http.ResponseWriter, r *http.Request) {
	o := c.snapshot()
	q, err := c.queryOf(r, o.watch)
	if err != nil {
		answerJSON(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	operator, _ := c.operator(r)
	if err := c.reset(r.Context(), operator, q); err != nil {
		answerJSON(w, http.StatusBadGateway, apiError{clip(err.Error())})
		return
	}
	answerJSON(w, http.StatusOK, c.lookUp(r.Context(), o, q))
}
