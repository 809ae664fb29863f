package tierway

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

const (
	playerID    = "00000000-0000-7000-8000-000000000001"
	loginID     = "00000000-0000-7000-8000-000000000002"
	environment = "00000000-0000-7000-8000-000000000003"
)

type signer struct {
	kid  string
	open ed25519.PublicKey
	key  ed25519.PrivateKey
}

func newSigner(t *testing.T, kid string) signer {
	t.Helper()
	open, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, open, key}
}

func part(t *testing.T, value interface{}) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// sign makes a token with changes of its header and its claims. A nil value removes a member.
func (s signer) sign(t *testing.T, header, claims map[string]interface{}) string {
	t.Helper()
	head := map[string]interface{}{"alg": "EdDSA", "typ": "at+jwt", "kid": s.kid}
	now := time.Now().Unix()
	body := map[string]interface{}{
		"iss": "tierway", "aud": "tierway", "sub": playerID, "prj": "p", "env": environment,
		"iat": now, "exp": now + 600, "jti": loginID + ".x", "claims": map[string]interface{}{"rank": 7},
	}
	for _, one := range []struct{ all, changes map[string]interface{} }{{head, header}, {body, claims}} {
		for name, value := range one.changes {
			one.all[name] = value
			if value == nil {
				delete(one.all, name)
			}
		}
	}
	text := part(t, head) + "." + part(t, body)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, []byte(text)))
}

// keyServer serves the keys of these signers, and counts how often they were read.
type keyServer struct {
	*httptest.Server
	signers atomic.Value
	isAway  atomic.Bool
	reads   atomic.Int32
}

func serveKeys(t *testing.T, signers ...signer) *keyServer {
	t.Helper()
	s := &keyServer{}
	s.signers.Store(signers)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reads.Add(1)
		if s.isAway.Load() || r.URL.Path != "/.well-known/jwks.json" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		keys := []map[string]string{}
		for _, one := range s.signers.Load().([]signer) {
			x := base64.RawURLEncoding.EncodeToString(one.open)
			keys = append(keys, map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": one.kid, "x": x})
		}
		json.NewEncoder(w).Encode(map[string]interface{}{"keys": keys})
	}))
	t.Cleanup(s.Close)
	return s
}

func TestVerify(t *testing.T) {
	type changes = map[string]interface{}
	own, foreign := newSigner(t, "own"), newSigner(t, "own")
	verifier := &TokenVerifier{URL: serveKeys(t, own).URL + "/", EnvironmentID: environment}
	now := time.Now().Unix()
	for name, one := range map[string]struct {
		token string
		want  error
	}{
		"a player's":                   {own.sign(t, nil, nil), nil},
		"expired within the clocks":    {own.sign(t, nil, changes{"exp": now}), nil},
		"expired":                      {own.sign(t, nil, changes{"exp": now - 60}), ErrTokenExpired},
		"of another environment":       {own.sign(t, nil, changes{"env": playerID}), ErrOtherEnvironment},
		"of an operator":               {own.sign(t, changes{"typ": "op+jwt"}, nil), ErrNotPlayerToken},
		"of another issuer":            {own.sign(t, nil, changes{"iss": "other"}), ErrInvalidToken},
		"for another audience":         {own.sign(t, nil, changes{"aud": "other"}), ErrInvalidToken},
		"not valid yet":                {own.sign(t, nil, changes{"nbf": now + 600}), ErrInvalidToken},
		"without a time":               {own.sign(t, nil, changes{"exp": nil}), ErrInvalidToken},
		"without a player":             {own.sign(t, nil, changes{"sub": nil}), ErrInvalidToken},
		"of another algorithm":         {own.sign(t, changes{"alg": "none"}, nil), ErrInvalidToken},
		"of no key":                    {own.sign(t, changes{"kid": nil}, nil), ErrInvalidToken},
		"of an unknown key":            {own.sign(t, changes{"kid": "other"}, nil), ErrInvalidToken},
		"with critical extensions":     {own.sign(t, changes{"crit": []string{"b64"}}, nil), ErrInvalidToken},
		"of another key, same name":    {foreign.sign(t, nil, nil), ErrInvalidToken},
		"too long":                     {own.sign(t, nil, changes{"more": make([]byte, 5000)}), ErrInvalidToken},
		"empty":                        {"", ErrInvalidToken},
		"of three empty parts":         {"..", ErrInvalidToken},
		"without a signature":          {part(t, changes{"alg": "EdDSA", "kid": "own"}) + ".e30.", ErrInvalidToken},
		"with a header that is a list": {"W10.e30.AA", ErrInvalidToken},
	} {
		player, err := verifier.Verify(context.Background(), one.token)
		if !errors.Is(err, one.want) {
			t.Errorf("a token %s: %v, not %v", name, err, one.want)
		}
		if err != nil {
			continue
		}
		if player.PlayerID != playerID || player.LoginID != loginID || string(player.Claims) != `{"rank":7}` {
			t.Errorf("a token %s: %+v", name, player)
		}
	}
}

func TestKeys(t *testing.T) {
	first, second := newSigner(t, "first"), newSigner(t, "second")
	keys := serveKeys(t, first)
	verifier := &TokenVerifier{URL: keys.URL, EnvironmentID: environment}
	check := func(what string, by signer, want error) {
		t.Helper()
		if _, err := verifier.Verify(context.Background(), by.sign(t, nil, nil)); !errors.Is(err, want) {
			t.Fatalf("%s: %v, not %v", what, err, want)
		}
	}
	later := func(by time.Duration) {
		verifier.readAt, verifier.triedAt = verifier.readAt.Add(-by), verifier.triedAt.Add(-by)
	}

	keys.isAway.Store(true)
	check("away at first", first, ErrKeysUnreachable)
	keys.isAway.Store(false)
	later(firstKeysCooldown)
	check("back", first, nil)
	keys.signers.Store([]signer{second, first})
	reads := keys.reads.Load()
	check("an unknown key within the cooldown", second, ErrInvalidToken)
	if keys.reads.Load() != reads {
		t.Fatal("an unknown key reads the keys at once")
	}
	later(keysCooldown)
	check("the new key", second, nil)
	check("the old key", first, nil)
	keys.isAway.Store(true)
	later(keysMaxAge)
	check("a known key while the service is away", first, nil)
	keys.isAway.Store(false)
	keys.signers.Store([]signer{second})
	later(keysCooldown)
	check("a dropped key", first, ErrInvalidToken)
}

// TestTokensOfTheService verifies the tokens that TOKENS_OF_SERVICE has, if it is set: those of a running service.
func TestTokensOfTheService(t *testing.T) {
	var cases struct {
		URL, EnvironmentID string
		Tokens             []struct{ Token, PlayerID, Claims, Error string }
	}
	text := os.Getenv("TOKENS_OF_SERVICE")
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &cases); err != nil {
		t.Fatal(err)
	}
	verifier := &TokenVerifier{URL: cases.URL, EnvironmentID: cases.EnvironmentID}
	for _, one := range cases.Tokens {
		player, err := verifier.Verify(context.Background(), one.Token)
		if err != nil || one.Error != "" {
			if fmt.Sprint(err) != one.Error {
				t.Errorf("%v, not %q", err, one.Error)
			}
		} else if player.PlayerID != one.PlayerID || string(player.Claims) != one.Claims {
			t.Errorf("%+v, not %+v", player, one)
		}
	}
	t.Logf("%d tokens of the service", len(cases.Tokens))
}
