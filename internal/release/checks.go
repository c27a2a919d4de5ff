package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// check returns what stands in the way of the release. A dry run leaves out what is done on the day itself: the date in
// the changelog, and a clean tree.
func (r *release) check(dry bool) []string {
	var f faults
	r.checkVersion(&f)
	r.checkTags(&f)
	r.checkChangelog(&f, dry)
	for i := range r.modules {
		r.checkModule(&f, &r.modules[i])
	}
	if changed, err := command(".", "git", "status", "--porcelain"); err != nil {
		f.add("git: %v", err)
	} else if !dry && changed != "" {
		f.add("the tree has changes that are not committed; commit or drop them")
	}
	return f
}

type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (r *release) checkVersion(f *faults) {
	v, ok := parseVersion(r.version)
	switch {
	case !ok:
		f.add("version %q is none; want vMAJOR.MINOR.PATCH, such as v0.3.0", r.version)
	case v[0] > 1:
		f.add("version %s needs module paths that end in /v%d", r.version, v[0])
	}
	for _, tag := range r.existing {
		if old, is := parseVersion(tag); ok && is && older(v, old) {
			f.add("version %s is older than %s, which is tagged", r.version, tag)
		}
	}
}

func (r *release) checkTags(f *faults) {
	for _, tag := range r.tags() {
		for _, old := range r.existing {
			if tag == old {
				f.add("tag %s exists; a version is never tagged twice", tag)
			}
		}
	}
}

var heading = regexp.MustCompile(`(?m)^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ \t]*$`)

// checkChangelog wants a section for the version with a date and entries. Before the day, Unreleased does.
func (r *release) checkChangelog(f *faults, dry bool) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		f.add("%v", err)
		return
	}
	name := strings.TrimPrefix(r.version, "v")
	sections := heading.FindAllSubmatchIndex(text, -1)
	for i, s := range sections {
		end := len(text)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		title := string(text[s[2]:s[3]])
		if title != name && (!dry || title != "Unreleased") {
			continue
		}
		if title == name && s[4] < 0 {
			f.add("CHANGELOG.md: [%s] has no date; want \"## [%s] - YYYY-MM-DD\"", name, name)
		}
		if strings.Contains(string(text[s[1]:end]), "\n- ") {
			return
		}
	}
	f.add("CHANGELOG.md: no entries for %s; Unreleased becomes \"## [%s] - YYYY-MM-DD\"", r.version, name)
}

// checkModule looks at one go.mod.
func (r *release) checkModule(f *faults, m *module) {
	place := m.folder + "/go.mod"
	want := root
	if m.folder != "." {
		want += "/" + m.folder
	}
	if m.Module.Path != want {
		f.add("%s: the module is %s, want %s, as its folder says", place, m.Module.Path, want)
	}
	if m.Go != "1.25" && m.Go != "1.25.0" {
		f.add("%s: go %s, want 1.25.0: CONTRIBUTING.md says why", place, m.Go)
	}
	replaced := map[string]bool{}
	for _, line := range m.Replace {
		replaced[line.Old.Path] = true
		r.checkReplace(f, m, line.Old.Path, line.New.Path)
	}
	if r.rooted && m.command && len(m.Replace) > 0 {
		f.add("%s: has replace lines, with which go install refuses a command; leave them out for this commit", place)
	}
	for _, line := range m.Require {
		r.checkRequire(f, m, line.Path, line.Version, replaced[line.Path])
	}
}

// checkReplace wants the path to lead, inside the repository, to the module that it replaces.
func (r *release) checkReplace(f *faults, m *module, path, to string) {
	place := m.folder + "/go.mod"
	switch folder, found := m.target(to); {
	case !ours(path):
		f.add("%s: replaces %s, which users of the module would not get replaced", place, path)
	case m.folder == ".":
		f.add("%s: the root replaces %s, and must require no other module of ours", place, path)
	case !strings.HasPrefix(to, "..") || strings.HasPrefix(folder, ".."):
		f.add("%s: replaces %s by %s, want a relative path inside the repository", place, path, to)
	case found != path:
		f.add("%s: replaces %s by %s, where the module is %q", place, path, to, found)
	}
}

// checkRequire wants all requirements of modules of ours to be of the release, once the root is tagged.
func (r *release) checkRequire(f *faults, m *module, path, version string, replaced bool) {
	place := m.folder + "/go.mod"
	switch {
	case !ours(path):
	case unpublished(strings.TrimPrefix(path, root+"/")):
		f.add("%s: requires %s, which is never published", place, path)
	case r.rooted && version != r.version:
		f.add("%s: requires %s %s, want %s", place, path, version, r.version)
	case !replaced && !(r.rooted && m.command):
		f.add(
			"%s: requires %s without a replace line, so the repository does not build it from its folder",
			place,
			path,
		)
	}
}
