package accesslog

import (
	"errors"
	"fmt"
	"strings"
)

var (
	errHeader  = errors.New("the first line names the columns")
	errColumns = errors.New("it has another number of columns than the first line")
)

// commas reads comma-separated values (RFC 4180), also with semicolons or tabs between them. The first line names the
// columns. A value has no line break.
type commas struct {
	names   names
	columns []string // as the first line names them; nil before it
	comma   byte
	row     []string
}

func (f *commas) parse(line string, e *Entry) error {
	if f.columns == nil {
		return f.begin(line)
	}
	var err error
	if f.row, err = splitRow(f.row[:0], line, f.comma); err != nil {
		return err
	}
	if len(f.row) != len(f.columns) {
		return errColumns
	}
	var found found
	for i, value := range f.row {
		if err := f.names.set(e, &found, f.columns[i], value); err != nil {
			return err
		}
	}
	return found.check(e)
}

// begin takes the first line for the names of the columns.
func (f *commas) begin(line string) error {
	f.comma = ','
	for _, c := range []byte{'\t', ';'} {
		if strings.Count(line, string(c)) > strings.Count(line, string(f.comma)) {
			f.comma = c
		}
	}
	row, err := splitRow(nil, line, f.comma)
	if err != nil {
		return err
	}
	for i := range row {
		row[i] = strings.Clone(strings.TrimSpace(row[i]))
	}
	if err := f.names.suffice(row); err != nil {
		return &wrongFormat{fmt.Errorf("the first line has to name the columns: %w", err)}
	}
	f.columns = row
	return errHeader
}

// splitRow appends the values of a line to row.
func splitRow(row []string, line string, comma byte) ([]string, error) {
	for {
		if !strings.HasPrefix(line, `"`) {
			end := strings.IndexByte(line, comma)
			if end < 0 {
				return append(row, line), nil
			}
			row, line = append(row, line[:end]), line[end+1:]
			continue
		}
		value, rest, err := quotedValue(line[1:])
		if err != nil {
			return row, err
		}
		row = append(row, value)
		if rest == "" {
			return row, nil
		}
		if rest[0] != comma {
			return row, errQuote
		}
		line = rest[1:]
	}
}

// quotedValue returns the value whose opening quote stood before s, and what follows. Two quotes stand for one.
func quotedValue(s string) (value, rest string, err error) {
	for from := 0; ; {
		end := strings.IndexByte(s[from:], '"')
		if end < 0 {
			return "", "", errQuote
		}
		if end += from; !strings.HasPrefix(s[end+1:], `"`) {
			return strings.ReplaceAll(s[:end], `""`, `"`), s[end+1:], nil
		}
		from = end + 2
	}
}
