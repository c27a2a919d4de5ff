package accesslog

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

var (
	errNoClient = errors.New("it tells no client")
	errNoTime   = errors.New("it tells no time")
	errQuote    = errors.New("a quoted text does not end")
)

// common reads the common log format and what grew of it: combined, vhost-combined, with or without further fields
// behind. Lines of all of them may stand in one file, as servers write one file for several sites.
//
//	[host[:port]] client ident user [time] "request" status bytes ["referer" "agent" ["forwarded"]] ...
type common struct{}

func (common) parse(line string, e *Entry) error {
	open := strings.IndexByte(line, '[')
	for open > 0 && line[open-1] != ' ' { // of an IPv6 address, or of a user's name
		next := strings.IndexByte(line[open+1:], '[')
		if next < 0 {
			return errNoTime
		}
		open += 1 + next
	}
	if open <= 0 {
		return errNoTime
	}
	end := strings.IndexByte(line[open:], ']')
	if end < 0 {
		return errNoTime
	}
	if err := e.setTime(line[open+1 : open+end]); err != nil {
		return err
	}
	if err := e.setWho(line[:open]); err != nil {
		return err
	}
	return e.setRest(line[open+end+1:])
}

// setWho reads what stands before the time: an address first, or the site's name and then an address. A first word that
// is neither is a client's name, as logs with looked-up names have it.
func (e *Entry) setWho(s string) error {
	s = strings.TrimSpace(s)
	first, rest, _ := strings.Cut(s, " ")
	begins := 0
	for strings.HasSuffix(first, ",") { // X-Forwarded-For in the place of the address: who sent it stands last
		begins += len(first) + 1
		first, rest, _ = strings.Cut(rest, " ")
	}
	if begins > 0 {
		e.Forwarded = s[:begins-2]
	}
	if !isAddress(first) {
		if second, behind, _ := strings.Cut(rest, " "); isAddress(second) {
			e.Host, first, rest = first, second, behind
		}
	}
	e.setPlainClient(first)
	if e.Client == "" {
		return errNoClient
	}
	if _, user, ok := strings.Cut(rest, " "); ok { // behind ident
		e.User = absent(strings.Trim(user, `"`))
	}
	return nil
}

// setRest reads what stands behind the time.
func (e *Entry) setRest(s string) error {
	request, s, err := quoted(s)
	if err != nil {
		return err
	}
	e.setRequest(request)
	status, s := word(s)
	if e.Status, err = statusOf(status); err != nil {
		return err
	}
	_, s = word(s) // bytes
	if referer, rest, err := quoted(s); err != nil || rest == s {
		return nil // the common format, or further fields of somebody's own
	} else if s = rest; absent(referer) != "" {
		e.Header = append(e.Header, Field{"Referer", referer})
	}
	if e.Agent, s, err = quoted(s); err != nil {
		return err
	}
	e.Agent = absent(e.Agent)
	if chain, _, err := quoted(s); err == nil && isChain(chain) { // as in nginx's own "main"
		e.Forwarded = chain
	}
	return nil
}

// quoted returns the text in quotes that s begins with, after spaces, and what follows. Where there is none it returns
// "" and s. Backslashes escape: \" and \x22.
func quoted(s string) (text, rest string, err error) {
	t := strings.TrimLeft(s, " ")
	if !strings.HasPrefix(t, `"`) {
		return "", s, nil
	}
	t = t[1:]
	end := strings.IndexByte(t, '"')
	if end < 0 {
		return "", s, errQuote
	}
	if escape := strings.IndexByte(t[:end], '\\'); escape < 0 {
		return t[:end], t[end+1:], nil
	}
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case '\\':
			i++
		case '"':
			return unescape(t[:i]), t[i+1:], nil
		}
	}
	return "", s, errQuote
}

// unescape undoes what Apache and nginx do to quotes, backslashes and bytes that cannot be printed.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'x', 'X':
			if i+2 < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					b.WriteByte(byte(v))
					i += 2
					continue
				}
			}
			b.WriteString(s[i-1 : i+1])
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '"', '\\':
			b.WriteByte(s[i])
		default:
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// word returns the first word of s and what follows.
func word(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimLeft(s, " "), " ")
	return first, rest
}

var errStatus = errors.New("the status is no number of three digits")

// statusOf reads a status; "-", "" and "0" say that none was sent.
func statusOf(s string) (int, error) {
	if s == "" || s == "-" {
		return 0, nil
	}
	if n := number(s); len(s) <= 3 && n >= 0 {
		return n, nil
	}
	return 0, errStatus
}

// isAddress reports whether s is an IP address, with or without a port.
func isAddress(s string) bool {
	if s == "" || s[0] != '[' && s[0] != ':' && (s[0] < '0' || s[0] > '9') && (s[0]|0x20 < 'a' || s[0]|0x20 > 'f') {
		return false
	}
	_, err := netip.ParseAddr(withoutPort(s))
	return err == nil
}

// isChain reports whether s is a list of addresses, as X-Forwarded-For has them.
func isChain(s string) bool {
	if s == "" {
		return false
	}
	for one := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParseAddr(strings.TrimSpace(one)); err != nil {
			return false
		}
	}
	return true
}
