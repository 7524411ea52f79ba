package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// loginVariables are what a login would set: a job has them even if nothing else is
// passed on.
var loginVariables = [...]string{"HOME", "LOGNAME", "PATH", "SHELL", "USER"}

// exportEnvironment chooses the variables to pass on to a job, as sbatch --export does:
// "ALL", "NONE" (what a login would set), or a list of NAME and NAME=value in which ALL
// may stand too. It returns them sorted, and the names of variables that cannot be passed
// on because they are not text.
func exportEnvironment(export string, environ []string) (variables, left []string, err error) {
	current := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			current[name] = value
		}
	}
	chosen := map[string]string{}
	choose := func(names ...string) {
		for _, name := range names {
			if value, ok := current[name]; ok {
				chosen[name] = value
			}
		}
	}
	choose(loginVariables[:]...)
	for item := range strings.SplitSeq(export, ",") {
		name, value, isAssignment := strings.Cut(item, "=")
		switch {
		case name == "":
			return nil, nil, fmt.Errorf("%.80q has an empty name", export)
		case isAssignment:
			chosen[name] = value
		case item == "ALL":
			for name, value := range current {
				chosen[name] = value
			}
		case item == "NONE" && export != "NONE":
			return nil, nil, fmt.Errorf("NONE stands alone")
		case item != "NONE":
			choose(item)
		}
	}
	for name, value := range chosen {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			left = append(left, fmt.Sprintf("%q", name))
			continue
		}
		variables = append(variables, name+"="+value)
	}
	slices.Sort(variables)
	slices.Sort(left)
	return variables, left, nil
}
