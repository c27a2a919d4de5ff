package accesslog

// gcp reads the entries that Google Cloud's load balancers write, one JSON object a line.
type gcp struct{}

type gcpLine struct {
	Timestamp text `json:"timestamp"`
	Request   *struct {
		Method    text `json:"requestMethod"`
		URL       text `json:"requestUrl"`
		Status    text `json:"status"`
		RemoteIP  text `json:"remoteIp"`
		UserAgent text `json:"userAgent"`
		Referer   text `json:"referer"`
	} `json:"httpRequest"`
}

func (gcp) parse(line string, e *Entry) error {
	var l gcpLine
	if err := unmarshal(line, &l); err != nil {
		return err
	}
	if l.Request == nil {
		return errNoRequest
	}
	if l.Timestamp == "" {
		return errNoTime
	}
	if err := e.setTime(string(l.Timestamp)); err != nil {
		return err
	}
	r := l.Request
	if e.setPlainClient(string(r.RemoteIP)); e.Client == "" {
		return errNoClient
	}
	e.Method, e.Target, e.Agent = string(r.Method), string(r.URL), string(r.UserAgent)
	e.Host = hostOf(e.Target)
	e.add("Referer", string(r.Referer))
	var err error
	e.Status, err = statusOf(string(r.Status))
	return err
}
