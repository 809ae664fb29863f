package tierway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Why a token is refused before it expires, by a verifier that follows. Compare with errors.Is.
var (
	// ErrLoginEnded: the login of the token has ended, as by a logout.
	ErrLoginEnded = errors.New("tierway: the login of the token has ended")
	// ErrPlayerBanned: the player is banned.
	ErrPlayerBanned = errors.New("tierway: the player is banned")
	// ErrPlayerDeleted: the player is deleted.
	ErrPlayerDeleted = errors.New("tierway: the player is deleted")
)

// ErrServerKeyRefused: the service refuses the key of Follow, or it is of another environment.
var ErrServerKeyRefused = errors.New("tierway: the server key is refused")

const (
	// The service says every five seconds that the follower is up to date.
	longestSilence   = 20 * time.Second
	longestPause     = 10 * time.Second
	soundConnection  = 5 * time.Second
	longestEventLine = 16 << 20
	// An access token expires a day after its login has ended, at most. The rest allows for clocks that differ.
	endedKept = 25 * time.Hour
	// About 200 MB. Of more, some are forgotten.
	mostEnded = 1_000_000
)

// Ended is a login that has ended, or a player that is banned or deleted.
type Ended struct {
	PlayerID string
	// LoginID is the login that has ended; empty where it is all logins of the player.
	LoginID string
	// Reason is the error with which Verify refuses its tokens.
	Reason error
}

// FollowOptions are the options of Follow.
type FollowOptions struct {
	// Key is a server key of the environment, twsrv_…
	Key string
	// OnEnded is called once for each end, so that you close connections that are open. May be nil.
	OnEnded func(Ended)
	// OnError is called with each failure. Follow goes on by itself. May be nil.
	OnError func(error)

	// silence is shorter in tests.
	silence time.Duration
}

// Follow follows the logins that end and the players that are banned or deleted: Verify refuses their tokens within
// seconds. It returns when the context is done, and with ErrServerKeyRefused, so run it in a goroutine of its own, one at
// a time.
//
// While the feed is away, Follow connects again and again. Verify refuses what is known, and accepts other tokens until
// they expire. Nothing is missed once the feed is back.
func (v *TokenVerifier) Follow(ctx context.Context, options FollowOptions) error {
	for failed := 0; ; failed++ {
		began := time.Now()
		err := v.followOnce(ctx, options)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrServerKeyRefused) {
			return err
		}
		if err != nil && options.OnError != nil {
			options.OnError(err)
		}
		if time.Since(began) > soundConnection {
			failed = 0
		}
		pause := math.Min(float64(longestPause), float64(200*time.Millisecond)*math.Pow(2, float64(failed)))
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.Float64() * pause)):
		}
	}
}

// FollowedAt is the last time at which all logins that had ended were known: a few seconds ago while Follow runs and the
// feed is there. It is zero before.
func (v *TokenVerifier) FollowedAt() time.Time {
	v.ended.lock.RLock()
	defer v.ended.lock.RUnlock()
	return v.ended.currentAt
}

// followOnce reads one connection to its end.
func (v *TokenVerifier) followOnce(ctx context.Context, options FollowOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	longest := options.silence
	if longest == 0 {
		longest = longestSilence
	}
	var isSilent atomic.Bool
	silence := time.AfterFunc(longest, func() {
		isSilent.Store(true)
		cancel()
	})
	defer silence.Stop()
	err := v.readFeed(ctx, options, func() { silence.Reset(longest) })
	if isSilent.Load() {
		return errors.New("tierway: the feed of ended logins is silent")
	}
	return err
}

// readFeed calls isAlive with each line.
func (v *TokenVerifier) readFeed(ctx context.Context, options FollowOptions, isAlive func()) error {
	url := strings.TrimRight(v.URL, "/") + "/server/v1/ended-logins"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+options.Key)
	request.Header.Set("Last-Event-ID", v.ended.lastID)
	client := http.Client{}
	if v.Client != nil {
		client = *v.Client
		// The stream has no end.
		client.Timeout = 0
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return refusalOf(response)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, longestEventLine)
	fields := map[string]string{}
	for lines.Scan() {
		isAlive()
		if name, value, ok := strings.Cut(lines.Text(), ": "); ok {
			fields[name] = value
		} else if lines.Text() == "" {
			if err := v.takeEvent(fields, options.OnEnded); err != nil {
				return err
			}
			fields = map[string]string{}
		}
	}
	return lines.Err()
}

func refusalOf(response *http.Response) error {
	var refusal struct{ Code string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&refusal)
	// Only the service itself says so: a proxy may answer with the same status.
	if refusal.Code == "invalid_token" || refusal.Code == "forbidden" {
		return fmt.Errorf("%w: %s", ErrServerKeyRefused, refusal.Code)
	}
	return fmt.Errorf("tierway: the feed of ended logins answered with status %d", response.StatusCode)
}

func (v *TokenVerifier) takeEvent(fields map[string]string, onEnded func(Ended)) error {
	event := fields["event"]
	if event != "ended" && event != "current" {
		return nil
	}
	var data struct {
		EnvironmentID string
		Logins        []struct {
			LoginID, PlayerID string
			EndedAt           time.Time
		}
		Players []struct {
			PlayerID, Status string
			ChangedAt        time.Time
			Until            *time.Time
		}
	}
	if err := json.Unmarshal([]byte(fields["data"]), &data); err != nil {
		return fmt.Errorf("tierway: the feed of ended logins did not come from the service: %w", err)
	}
	if data.EnvironmentID != v.EnvironmentID {
		return fmt.Errorf("%w: it is of another environment", ErrServerKeyRefused)
	}
	add := func(id string, at time.Time, until *time.Time, ended Ended) {
		if v.ended.add(id, endedToken{ended.Reason, at, until}) && onEnded != nil {
			onEnded(ended)
		}
	}
	for _, login := range data.Logins {
		add(login.LoginID, login.EndedAt, nil, Ended{login.PlayerID, login.LoginID, ErrLoginEnded})
	}
	for _, player := range data.Players {
		switch player.Status {
		case "active":
			v.ended.remove(player.PlayerID)
		case "deleted":
			add(player.PlayerID, player.ChangedAt, nil, Ended{player.PlayerID, "", ErrPlayerDeleted})
		default:
			add(player.PlayerID, player.ChangedAt, player.Until, Ended{player.PlayerID, "", ErrPlayerBanned})
		}
	}
	if event == "current" {
		v.ended.becomeCurrent(time.Now())
	}
	if id, ok := fields["id"]; ok {
		v.ended.lastID = id
	}
	return nil
}

// endedTokens has the logins and players whose tokens have ended before they expire.
type endedTokens struct {
	lock      sync.RWMutex
	byID      map[string]endedToken
	sweptAt   time.Time
	currentAt time.Time
	// lastID is used by Follow alone.
	lastID string
}

type endedToken struct {
	reason error
	at     time.Time
	// until is the end of a ban; nil for none.
	until *time.Time
}

// reasonAt is nil while the tokens are good, as after the end of a ban.
func (t endedToken) reasonAt(now time.Time) error {
	if t.until != nil && !now.Before(*t.until) {
		return nil
	}
	return t.reason
}

// reasonOf is nil while the tokens of a login or a player are good.
func (e *endedTokens) reasonOf(id string) error {
	e.lock.RLock()
	defer e.lock.RUnlock()
	return e.byID[id].reasonAt(time.Now())
}

// add reports whether it was not known.
func (e *endedTokens) add(id string, ended endedToken) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.byID == nil {
		e.byID = map[string]endedToken{}
	}
	isNew := e.byID[id].reasonAt(time.Now()) != ended.reason
	e.byID[id] = ended
	for other := range e.byID {
		if len(e.byID) <= mostEnded {
			break
		}
		delete(e.byID, other)
	}
	return isNew
}

func (e *endedTokens) remove(id string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.byID, id)
}

// becomeCurrent notes that all is known. Once an hour it forgets what has expired.
func (e *endedTokens) becomeCurrent(now time.Time) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.currentAt = now
	if now.Sub(e.sweptAt) < time.Hour {
		return
	}
	e.sweptAt = now
	for id, ended := range e.byID {
		if now.Sub(ended.at) > endedKept {
			delete(e.byID, id)
		}
	}
}
