package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// number writes n with a comma before every three digits.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// counted is "1 client" or "2 clients".
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// percent writes part of whole. What is not nothing never reads as nothing, and what is not all never as all.
func percent(part, whole int64) string {
	switch share := 100 * float64(part) / float64(whole); {
	case part == 0 || whole == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	case share < 0.01:
		return "< 0.01 %"
	case share < 1:
		return fmt.Sprintf("%.2f %%", share)
	case share < 10:
		return fmt.Sprintf("%.1f %%", share)
	case share > 99:
		return fmt.Sprintf("%.1f %%", math.Floor(share*10)/10)
	default:
		return fmt.Sprintf("%.0f %%", share)
	}
}

// wait writes how long a refused client is told to wait.
func wait(d time.Duration) string {
	switch {
	case d == limiter.Never:
		return "for ever"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

var units = []struct {
	length    time.Duration
	one, many string
}{
	{24 * time.Hour, "day", "days"},
	{time.Hour, "hour", "hours"},
	{time.Minute, "minute", "minutes"},
	{time.Second, "second", "seconds"},
	{time.Millisecond, "millisecond", "milliseconds"},
}

// span writes a whole number of milliseconds exactly, by the largest unit that divides it: "minute", "15 seconds".
func span(d time.Duration) string {
	for _, u := range units {
		if n := d / u.length; d > 0 && d%u.length == 0 {
			if n == 1 {
				return u.one
			}
			return number(int64(n)) + " " + u.many
		}
	}
	return d.String()
}

// spanOne is span with its number: "1 minute".
func spanOne(d time.Duration) string {
	text := span(d)
	if strings.Contains(text, " ") {
		return text
	}
	return "1 " + text
}

// refusals is "41 requests of 3 clients classed as bots", or "no request of bots".
func refusals(c Counts, class string) string {
	if c.Refused == 0 {
		return "no request of " + class
	}
	return counted(c.Refused, "request", "requests") + " of " +
		counted(c.ClientsRefused, "client", "clients") + " classed as " + class
}

// limitWords writes a limit for people who have not read our documentation.
func limitWords(l limiter.Limit) string {
	text := counted(l.Requests, "request", "requests") + " per " + span(l.Window)
	if l.Burst > 0 {
		text += ", bursts of up to " + number(l.Burst)
	}
	return text
}

// lasted writes about how long it is from one time to the other.
func lasted(from, to time.Time) string {
	switch d := to.Sub(from); {
	case d < 2*time.Minute:
		return counted(int64(math.Round(d.Seconds())), "second", "seconds")
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// period leaves out of the end what it has in common with the beginning.
func period(from, to time.Time) string {
	from, to = from.UTC(), to.UTC()
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return moment(from) + " – " + to.Format(time.TimeOnly)
	}
	return moment(from) + " – " + moment(to)
}

// shorten cuts the middle out of a text of more than width characters.
func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width || width < 3 {
		return text
	}
	head := (width - 1 + 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}
