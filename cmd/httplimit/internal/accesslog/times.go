package accesslog

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errTime = errors.New("the time cannot be read")

// setTime reads a time in any of the forms that logs have: RFC 3339 and its relatives, that of the common log format,
// and seconds, milliseconds, microseconds or nanoseconds since 1970.
func (e *Entry) setTime(text string) error {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	switch {
	case len(text) < 8:
		return errTime
	case text[2] == '/' || text[1] == '/':
		return e.setCommonTime(text)
	case strings.IndexByte(text, '-') == 4 || strings.IndexByte(text, '/') == 4:
		return e.setDateTime(text)
	}
	return e.setEpoch(text)
}

// setCommonTime reads 10/Oct/2000:13:55:36 -0700, with or without a fraction and a zone.
func (e *Entry) setCommonTime(s string) error {
	if len(s) == 26 && s[2] == '/' && s[20] == ' ' { // as it nearly always stands, ten times as fast as time.Parse
		if at, ok := commonTime(s); ok {
			e.At, e.Whole = at, true
			return nil
		}
	}
	for _, layout := range []string{"2/Jan/2006:15:04:05 -0700", "2/Jan/2006:15:04:05Z07:00", "2/Jan/2006:15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			e.NoZone = !strings.ContainsAny(layout, "-Z")
			return e.set(t, !strings.Contains(s, "."))
		}
	}
	return errTime
}

func commonTime(s string) (ms int64, ok bool) {
	day, year := number(s[0:2]), number(s[7:11])
	hour, minute, second := number(s[12:14]), number(s[15:17]), number(s[18:20])
	zoneHour, zoneMinute := number(s[22:24]), number(s[24:26])
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s[3:6])
	if min(day, year, hour, minute, second, zoneHour, zoneMinute, month) < 0 || month%3 != 0 ||
		s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' ||
		day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || zoneMinute > 59 {
		return 0, false
	}
	zone := int64(zoneHour*3600 + zoneMinute*60)
	switch s[21] {
	case '-':
		zone = -zone
	case '+':
	default:
		return 0, false
	}
	midnight := time.Date(year, time.Month(month/3+1), day, 0, 0, 0, 0, time.UTC).Unix()
	at := midnight + int64(hour*3600+minute*60+second) - zone
	return at * 1000, at >= 0
}

// number returns the value of decimal digits, or -1.
func number(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// setDateTime reads RFC 3339, and what differs from it in the separators or lacks the zone.
func (e *Entry) setDateTime(s string) error {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return e.set(t, strings.IndexByte(s, '.') < 0)
	}
	s = strings.Replace(strings.Replace(s, "/", "-", 2), ",", ".", 1)
	layouts := []struct {
		layout string
		zone   bool
	}{
		{"2006-01-02 15:04:05Z07:00", true}, {"2006-01-02 15:04:05 Z07:00", true}, {"2006-01-02T15:04:05Z0700", true},
		{"2006-01-02 15:04:05 -0700 MST", true}, {"2006-01-02 15:04:05 -0700", true}, {"2006-01-02 15:04:05 MST", true},
		{"2006-01-02T15:04:05", false}, {"2006-01-02 15:04:05", false}, {"2006-01-02T15:04", false},
		{"2006-01-02 15:04", false},
	}
	for _, l := range layouts {
		if t, err := time.Parse(l.layout, s); err == nil {
			e.NoZone = !l.zone
			return e.set(t, strings.IndexByte(s, '.') < 0)
		}
	}
	return errTime
}

func (e *Entry) set(t time.Time, whole bool) error {
	if t.Unix() < 0 || t.Year() > 9999 {
		return errTime
	}
	e.At, e.Whole = t.UnixMilli(), whole
	return nil
}

// setEpoch reads a number since 1970. Its size tells the unit: seconds until the year 5138, then milliseconds, then
// microseconds, then nanoseconds.
func (e *Entry) setEpoch(s string) error {
	whole, fraction, hasFraction := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 {
		return e.setFloat(s)
	}
	const seconds = 100_000_000_000
	switch {
	case n < seconds:
		ms := 0
		if hasFraction {
			if ms = number((fraction + "000")[:3]); ms < 0 {
				return e.setFloat(s)
			}
		}
		e.At, e.Whole = n*1000+int64(ms), !hasFraction
	case n < seconds*1e3:
		e.At, e.Whole = n, false
	case n < seconds*1e6:
		e.At, e.Whole = n/1e3, false
	default:
		e.At, e.Whole = n/1e6, false
	}
	return nil
}

// setFloat reads seconds with an exponent, as encoders of JSON may write them: 1.6938407917564995e9.
func (e *Entry) setFloat(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f < 1e11) {
		return errTime
	}
	e.At, e.Whole = int64(math.Floor(f*1000+1e-4)), false
	return nil
}
