// Renders the templates of a chart as Helm does, with the few functions that this chart uses. Reads {"values", "release",
// "chart", "templates"} as JSON from standard input, and writes {"<file>": "<text>"}.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"text/template"
)

type input struct {
	Values    map[string]any    `json:"values"`
	Release   map[string]any    `json:"release"`
	Chart     map[string]any    `json:"chart"`
	Templates map[string]string `json:"templates"`
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	root := template.New("chart").Option("missingkey=zero")
	number := func(value any) int {
		switch n := value.(type) {
		case float64:
			return int(n)
		case int:
			return n
		}
		panic(fmt.Sprintf("%v is no number", value))
	}
	nindent := func(spaces int, text string) string {
		pad := "\n" + strings.Repeat(" ", spaces)
		return pad + strings.ReplaceAll(text, "\n", pad)
	}
	root.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"nindent": nindent,
		"quote":   func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"default": func(otherwise, value any) any {
			if value == nil || value == "" {
				return otherwise
			}
			return value
		},
		"required": func(message string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, fmt.Errorf("%s", message)
			}
			return value, nil
		},
		// JSON is YAML.
		"contains": func(part, text string) bool { return strings.Contains(text, part) },
		"toString": func(value any) string { return fmt.Sprint(value) },
		"toYaml": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"kindIs": func(kind string, value any) bool {
			return value != nil && reflect.TypeOf(value).Kind().String() == kind
		},
		"int64":  func(value any) int64 { return int64(number(value)) },
		"hasKey": func(values map[string]any, key string) bool { _, has := values[key]; return has },
		"add":    func(a, b any) int { return number(a) + number(b) },
		"div":    func(a, b any) int { return number(a) / number(b) },
	})
	for name, text := range in.Templates {
		_, err := root.New(name).Parse(text)
		check(err)
	}
	out := map[string]string{}
	for name := range in.Templates {
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		check(root.ExecuteTemplate(&text, name, map[string]any{"Values": in.Values, "Release": in.Release, "Chart": in.Chart}))
		out[name] = text.String()
	}
	check(json.NewEncoder(os.Stdout).Encode(out))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
