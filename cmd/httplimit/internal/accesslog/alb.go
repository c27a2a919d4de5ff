package accesslog

import "errors"

var errALB = errors.New("it has not the fields of an ALB log")

// alb reads what AWS's Application Load Balancer writes, and its Classic one, which lacks the first field. A client's
// address has its port. The fields are separated by spaces, and some are quoted.
//
//	type time elb client:port target:port 3 durations status target_status received sent "request" "agent" ...
type alb struct{}

func (alb) parse(line string, e *Entry) error {
	kind, rest := word(line)
	if len(kind) > 0 && kind[0] >= '0' && kind[0] <= '9' { // the Classic one begins with the time
		rest = line
	}
	stamp, rest := word(rest)
	if err := e.setDateTime(stamp); err != nil {
		return errTime
	}
	_, rest = word(rest) // the balancer
	client, rest := word(rest)
	if !isAddress(client) {
		return errNoClient
	}
	e.setPlainClient(client)
	for range 4 { // target and durations
		_, rest = word(rest)
	}
	status, rest := word(rest)
	var err error
	if e.Status, err = statusOf(status); err != nil {
		return err
	}
	for range 3 { // the target's status, bytes received and sent
		_, rest = word(rest)
	}
	request, after, err := quoted(rest)
	if err != nil {
		return err
	}
	if after == rest {
		return errALB
	}
	e.setRequest(request)
	e.Host = hostOf(e.Target)
	agent, _, err := quoted(after)
	e.Agent = absent(agent)
	return err
}
