package readme

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// Link is a link or an image in a Markdown file whose target is a file or a heading, not an address with a scheme.
type Link struct {
	File   string // as given to Links
	Line   int    // counted from 1
	Path   string // relative to the folder of File; "" for File itself
	Anchor string // the part behind #, or ""
}

var (
	target   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	heading  = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	anchorID = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	scheme   = regexp.MustCompile(`^[a-z]+:`)
)

// Links returns the links of a Markdown text to files and headings, in order. What stands in code is none.
func Links(file, markdown string) ([]Link, error) {
	var links []Link
	for i, line := range prose(markdown) {
		for _, parts := range target.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
			if scheme.MatchString(parts[1]) {
				continue
			}
			to, err := url.Parse(parts[1])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			links = append(links, Link{File: file, Line: i + 1, Path: to.Path, Anchor: to.Fragment})
		}
	}
	return links, nil
}

// Resolve returns an error that names the link if its file or folder does not exist or, in a Markdown file, has no
// such heading.
func (l Link) Resolve() error {
	path := l.File
	if l.Path != "" {
		path = filepath.Join(filepath.Dir(l.File), filepath.FromSlash(l.Path))
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s:%d: %w", l.File, l.Line, err)
	}
	if l.Anchor == "" || filepath.Ext(path) != ".md" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", l.File, l.Line, err)
	}
	if !Anchors(string(text))[l.Anchor] {
		return fmt.Errorf("%s:%d: %s has no heading #%s", l.File, l.Line, path, l.Anchor)
	}
	return nil
}

// Anchors returns what links to headings of a Markdown text may name, by the rules of GitHub: letters in lower case,
// hyphens for spaces, no punctuation, and a number behind what occurs again.
func Anchors(markdown string) map[string]bool {
	anchors, seen := map[string]bool{}, map[string]int{}
	for _, line := range prose(markdown) {
		for _, id := range anchorID.FindAllStringSubmatch(line, -1) {
			anchors[id[1]] = true
		}
		parts := heading.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		name := anchorOf(parts[1])
		if n := seen[name]; n > 0 {
			anchors[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			anchors[name] = true
		}
		seen[name]++
	}
	return anchors
}

func anchorOf(title string) string {
	title = target.ReplaceAllString(title, "]") // of a link its text counts
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// prose returns the lines of a Markdown text, those of fenced blocks empty.
func prose(markdown string) []string {
	lines := strings.Split(markdown, "\n")
	open := ""
	for i, line := range lines {
		parts := fence.FindStringSubmatch(line)
		switch {
		case open == "" && parts != nil:
			open = parts[2]
		case open == "":
			continue
		case parts != nil && parts[3] == "" && strings.HasPrefix(parts[2], open):
			open = ""
		}
		lines[i] = ""
	}
	return lines
}
