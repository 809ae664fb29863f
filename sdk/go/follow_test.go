package tierway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveFeed answers connections of Follow one after another, and the keys of a signer. The last connection stays open.
func serveFeed(t *testing.T, own signer, answers ...func(w http.ResponseWriter, r *http.Request)) (string, *atomic.Int32) {
	t.Helper()
	keys := serveKeys(t, own)
	connections := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/server/v1/ended-logins" {
			keys.Config.Handler.ServeHTTP(w, r)
			return
		}
		at := int(connections.Add(1)) - 1
		if at < len(answers) {
			answers[at](w, r)
		}
		if at >= len(answers)-1 {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, connections
}

func event(id, kind, members string) string {
	return fmt.Sprintf("id: %s\nevent: %s\ndata: {\"environmentId\":%q%s}\n\n", id, kind, environment, members)
}

func endedLogin(at time.Time) string {
	return fmt.Sprintf(`,"logins":[{"loginId":%q,"playerId":%q,"endedAt":%q}],"players":[]`,
		loginID, playerID, at.Format(time.RFC3339))
}

func changedPlayer(status string) string {
	return fmt.Sprintf(`,"logins":[],"players":[{"playerId":%q,"status":%q,"changedAt":%q}]`,
		playerID, status, time.Now().Format(time.RFC3339))
}

// send is an answer of these events.
func send(events ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(strings.Join(events, "")))
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 seconds", what)
		}
	}
}

// follow runs Follow until the test ends, and returns the ends and the failures that it told, and what it returned.
func follow(t *testing.T, verifier *TokenVerifier, silence time.Duration) (chan Ended, chan error, chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, failures, returned := make(chan Ended, 100), make(chan error, 100), make(chan error, 1)
	go func() {
		returned <- verifier.Follow(ctx, FollowOptions{
			Key:     "twsrv_test",
			OnEnded: func(one Ended) { ended <- one },
			OnError: func(err error) { failures <- err },
			silence: silence,
		})
	}()
	t.Cleanup(cancel)
	return ended, failures, returned
}

func TestFollow(t *testing.T) {
	own := newSigner(t, "own")
	token := own.sign(t, nil, nil)
	gate := make(chan string)
	var asked []string
	ask := func(next func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get("Last-Event-ID")+" "+r.Header.Get("Authorization"))
			next(w, r)
		}
	}
	half := event("3-3", "ended", changedPlayer("banned"))
	url, _ := serveFeed(t, own,
		ask(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
		ask(send(event("1-1", "ended", endedLogin(time.Now())), event("2-2", "current", ""), half[:len(half)-9])),
		ask(func(w http.ResponseWriter, r *http.Request) {
			send(": a comment\n\nevent: later\n\n", event("2-2", "ended", endedLogin(time.Now())))(w, r)
			for status := range gate {
				w.Write([]byte(event("4-4", "ended", changedPlayer(status)) + event("5-5", "current", "")))
				w.(http.Flusher).Flush()
			}
		}),
	)
	verifier := &TokenVerifier{URL: url + "/", EnvironmentID: environment, Client: &http.Client{Timeout: time.Minute}}
	verdict := func() error {
		_, err := verifier.Verify(context.Background(), token)
		return err
	}
	if err := verdict(); err != nil || !verifier.FollowedAt().IsZero() {
		t.Fatalf("before: %v, %v", err, verifier.FollowedAt())
	}
	ended, failures, _ := follow(t, verifier, 0)
	until(t, "the login has ended", func() bool { return errors.Is(verdict(), ErrLoginEnded) })
	if one := <-ended; one != (Ended{playerID, loginID, ErrLoginEnded}) {
		t.Errorf("told %+v", one)
	}
	for _, one := range []struct {
		status string
		want   error
	}{{"banned", ErrPlayerBanned}, {"active", ErrLoginEnded}, {"deleted", ErrPlayerDeleted}} {
		before := verifier.FollowedAt()
		gate <- one.status
		until(t, one.status, func() bool { return verifier.FollowedAt().After(before) })
		if err := verdict(); !errors.Is(err, one.want) {
			t.Errorf("%s: %v, not %v", one.status, err, one.want)
		}
	}
	close(gate)
	want := []string{" Bearer twsrv_test", " Bearer twsrv_test", "2-2 Bearer twsrv_test"}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked %q, not %q", asked, want)
	}
	// The login was told once, though it came twice.
	if first, second := <-ended, <-ended; first.Reason != ErrPlayerBanned || second.Reason != ErrPlayerDeleted {
		t.Errorf("told %v and %v", first, second)
	}
	if err := <-failures; !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
}

func TestFollowConnectsAgainWhenTheFeedIsSilent(t *testing.T) {
	url, connections := serveFeed(t, newSigner(t, "own"), send(event("1-1", "current", "")))
	_, failures, _ := follow(t, &TokenVerifier{URL: url, EnvironmentID: environment}, 50*time.Millisecond)
	until(t, "it has connected again", func() bool { return connections.Load() > 2 })
	if err := <-failures; !strings.Contains(err.Error(), "silent") {
		t.Error(err)
	}
}

func TestFollowReturns(t *testing.T) {
	refusal := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			w.Write([]byte(body))
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"an unknown key":             refusal(`{"error":"invalid token","code":"invalid_token"}`),
		"a key of other environment": send(strings.Replace(event("1-1", "current", ""), environment, playerID, 1)),
	} {
		// A proxy may refuse, too: that passes.
		url, _ := serveFeed(t, newSigner(t, "own"), refusal("<html>"), answer, send())
		_, failures, returned := follow(t, &TokenVerifier{URL: url, EnvironmentID: environment}, 0)
		if err := <-returned; !errors.Is(err, ErrServerKeyRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-failures; errors.Is(err, ErrServerKeyRefused) {
			t.Error(err)
		}
	}
	url, connections := serveFeed(t, newSigner(t, "own"))
	ctx, cancel := context.WithCancel(context.Background())
	returned := make(chan error)
	verifier := &TokenVerifier{URL: url, EnvironmentID: environment}
	go func() { returned <- verifier.Follow(ctx, FollowOptions{Key: "twsrv_test"}) }()
	until(t, "it has connected", func() bool { return connections.Load() > 0 })
	cancel()
	if err := <-returned; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEndedTokensAreForgotten(t *testing.T) {
	tokens, now := &endedTokens{}, time.Now()
	tokens.add("old", endedToken{ErrLoginEnded, now.Add(-26 * time.Hour), nil})
	tokens.add("new", endedToken{ErrLoginEnded, now.Add(-24 * time.Hour), nil})
	tokens.becomeCurrent(now)
	if tokens.reasonOf("old") != nil || tokens.reasonOf("new") == nil {
		t.Errorf("%v", tokens.byID)
	}
}

func TestBansEndByThemselves(t *testing.T) {
	tokens, now := &endedTokens{}, time.Now()
	past, later := now.Add(-time.Second), now.Add(time.Hour)
	for _, one := range []struct {
		until *time.Time
		isNew bool
		want  error
	}{{&later, true, ErrPlayerBanned}, {nil, false, ErrPlayerBanned}, {&past, false, nil}, {&later, true, ErrPlayerBanned}} {
		isNew := tokens.add("player", endedToken{ErrPlayerBanned, now, one.until})
		if got := tokens.reasonOf("player"); isNew != one.isNew || got != one.want {
			t.Errorf("until %v: %v, %v", one.until, isNew, got)
		}
	}
}

// TestFollowTheService follows the service that FEED_OF_SERVICE names, if it is set.
func TestFollowTheService(t *testing.T) {
	var service struct {
		URL, EnvironmentID, Key string
		Tokens                  []struct{ Token, Error string }
	}
	text := os.Getenv("FEED_OF_SERVICE")
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &service); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	verifier := &TokenVerifier{URL: service.URL, EnvironmentID: service.EnvironmentID}
	go verifier.Follow(ctx, FollowOptions{Key: service.Key, OnError: func(err error) { t.Log(err) }})
	until(t, "it follows", func() bool { return !verifier.FollowedAt().IsZero() })
	for _, one := range service.Tokens {
		if _, err := verifier.Verify(ctx, one.Token); fmt.Sprint(err) != one.Error {
			t.Errorf("%v, not %q", err, one.Error)
		}
	}
	t.Logf("%d tokens by the feed", len(service.Tokens))
}
