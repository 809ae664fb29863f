package tierway

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Why a token is not accepted. Compare with errors.Is.
var (
	// ErrTokenExpired: the client gets a new token and tries again.
	ErrTokenExpired = errors.New("tierway: the token has expired")
	// ErrOtherEnvironment: the token is of a player of another environment.
	ErrOtherEnvironment = errors.New("tierway: the token is of a player of another environment")
	// ErrNotPlayerToken: the service signed the token for something else than a player, such as an operator.
	ErrNotPlayerToken = errors.New("tierway: the token is not one of a player")
	// ErrInvalidToken: the service did not sign the token, or not for this audience.
	ErrInvalidToken = errors.New("tierway: the token is invalid")
	// ErrKeysUnreachable: the keys could not be read, so nothing is known of the token.
	ErrKeysUnreachable = errors.New("tierway: the keys of the service could not be read")
)

const (
	defaultClockTolerance = 5 * time.Second
	maxTokenLength        = 4096
	maxKeysBytes          = 1 << 20
	keysMaxAge            = 10 * time.Minute
	keysCooldown          = 5 * time.Second
	firstKeysCooldown     = time.Second
	keysTimeout           = 5 * time.Second
)

// VerifiedPlayer is what a verified access token says.
type VerifiedPlayer struct {
	PlayerID      string
	ProjectID     string
	EnvironmentID string
	// LoginID is the login that the token belongs to; empty for a token that was made without one.
	LoginID   string
	ExpiresAt time.Time
	// Claims is what the login webhook answered as claims, as JSON; nil without any.
	Claims json.RawMessage
}

// TokenVerifier verifies access tokens of players by the public keys of the service, which it keeps. Make one for the
// whole process, and do not change or copy it afterwards. It may be used by several goroutines at once.
//
// A login that has ended, as by a logout, is known only while Follow runs: without it, its tokens are accepted until they
// expire.
type TokenVerifier struct {
	// URL is where the service is, such as https://play.example.com.
	URL string
	// EnvironmentID is the id of the environment whose players may come in.
	EnvironmentID string
	// Issuer and Audience are TOKEN_ISSUER and TOKEN_AUDIENCE of the service. An empty one is "tierway".
	Issuer, Audience string
	// ClockTolerance is how far the clocks of this machine and of the service may differ. Zero is five seconds, and a
	// negative one is none.
	ClockTolerance time.Duration
	// Client makes the requests. Nil is http.DefaultClient.
	Client *http.Client

	lock sync.Mutex
	keys map[string]ed25519.PublicKey
	// readAt is the time of the last successful read, triedAt that of the last one, and failed its error.
	readAt, triedAt time.Time
	failed          error
	ended           endedTokens
}

// Verify answers the player of an access token.
func (v *TokenVerifier) Verify(ctx context.Context, token string) (*VerifiedPlayer, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxTokenLength || len(parts) != 3 {
		return nil, ErrInvalidToken
	}
	var header struct {
		Alg, Typ, Kid string
		Crit          json.RawMessage
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !decode(parts[0], &header) || header.Alg != "EdDSA" || header.Kid == "" || header.Crit != nil {
		return nil, ErrInvalidToken
	}
	key, err := v.key(ctx, header.Kid)
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return nil, ErrInvalidToken
	}
	if header.Typ != "at+jwt" {
		return nil, ErrNotPlayerToken
	}
	player, err := v.read(parts[1])
	if err != nil {
		return nil, err
	}
	for _, id := range []string{player.PlayerID, player.LoginID} {
		if err := v.ended.reasonOf(id); err != nil {
			return nil, err
		}
	}
	return player, nil
}

// read reads the payload of a token whose signature is verified.
func (v *TokenVerifier) read(payload string) (*VerifiedPlayer, error) {
	var claims struct {
		Iss, Aud, Sub, Prj, Env, Jti string
		Iat, Exp, Nbf                *float64
		Claims                       json.RawMessage
	}
	if !decode(payload, &claims) || claims.Iss != or(v.Issuer) || claims.Aud != or(v.Audience) {
		return nil, ErrInvalidToken
	}
	if claims.Sub == "" || claims.Prj == "" || claims.Env == "" || claims.Jti == "" || claims.Iat == nil || claims.Exp == nil {
		return nil, ErrInvalidToken
	}
	tolerance := v.ClockTolerance
	if tolerance == 0 {
		tolerance = defaultClockTolerance
	} else if tolerance < 0 {
		tolerance = 0
	}
	now, seconds := float64(time.Now().Unix()), tolerance.Seconds()
	if claims.Nbf != nil && *claims.Nbf > now+seconds {
		return nil, ErrInvalidToken
	}
	if *claims.Exp <= now-seconds {
		return nil, ErrTokenExpired
	}
	if claims.Env != v.EnvironmentID {
		return nil, ErrOtherEnvironment
	}
	player := &VerifiedPlayer{
		PlayerID:      claims.Sub,
		ProjectID:     claims.Prj,
		EnvironmentID: claims.Env,
		ExpiresAt:     time.Unix(int64(*claims.Exp), 0),
	}
	if login, _, ok := strings.Cut(claims.Jti, "."); ok {
		player.LoginID = login
	}
	if bytes.HasPrefix(claims.Claims, []byte("{")) {
		player.Claims = claims.Claims
	}
	return player, nil
}

// key finds a key by its name. It reads the keys again when they are old, and when the name is not known.
func (v *TokenVerifier) key(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	key, ok := v.keys[kid]
	if ok && time.Since(v.readAt) < keysMaxAge {
		return key, nil
	}
	cooldown := keysCooldown
	if v.keys == nil {
		cooldown = firstKeysCooldown
	}
	// A service that does not answer must not hold up every token.
	if time.Since(v.triedAt) >= cooldown {
		v.failed = v.readKeys(ctx)
		v.triedAt = time.Now()
	}
	// While the service is away, the known keys go on.
	if key, ok = v.keys[kid]; ok {
		return key, nil
	}
	if v.failed != nil {
		return nil, fmt.Errorf("%w: %v", ErrKeysUnreachable, v.failed)
	}
	return nil, ErrInvalidToken
}

func (v *TokenVerifier) readKeys(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	url := strings.TrimRight(v.URL, "/") + "/.well-known/jwks.json"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := v.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	var set struct {
		Keys []struct{ Kty, Crv, Kid, X string }
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxKeysBytes)).Decode(&set); err != nil {
		return err
	}
	if set.Keys == nil {
		return errors.New("the answer has no keys")
	}
	keys := make(map[string]ed25519.PublicKey, len(set.Keys))
	for _, one := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(one.X)
		if err == nil && one.Kty == "OKP" && one.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize {
			keys[one.Kid] = x
		}
	}
	v.keys, v.readAt = keys, time.Now()
	return nil
}

func decode(part string, into interface{}) bool {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

func or(name string) string {
	if name == "" {
		return "tierway"
	}
	return name
}
