using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>The account of the logged-in player: its profile, identities, sessions and data.</summary>
    public sealed class Account
    {
        private readonly Caller caller;

        internal Account(Caller caller)
        {
            this.caller = caller;
        }

        /// <summary>Changes the player's profile, where the environment lets clients. A field that is null stays.</summary>
        public Task UpdateAsync(
            string nickname = null,
            string region = null,
            string language = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject();
            if (nickname != null) request.Name("nickname").Value(nickname);
            if (region != null) request.Name("region").Value(region);
            if (language != null) request.Name("language").Value(language);
            return ChangeAsync("/sdk/v1/player/update", request, callOptions, cancellationToken);
        }

        /// <summary>The identities that log the player in.</summary>
        public async Task<IReadOnlyList<OwnIdentity>> IdentitiesAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await caller.PostAsync("/sdk/v1/identities/list", "{}", callOptions, cancellationToken);
            return Caller.Understood(() => body.List("identities", OwnIdentity.Read));
        }

        /// <summary>
        /// Removes an identity from the player. The last one stays: it is refused with
        /// <see cref="ErrorCodes.LastIdentity"/>.
        /// </summary>
        public Task UnlinkAsync(
            string provider,
            string subject,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (provider == null) throw new ArgumentNullException("provider");
            if (subject == null) throw new ArgumentNullException("subject");
            var request = new JsonWriter().BeginObject().Name("provider").Value(provider).Name("subject").Value(subject);
            return ChangeAsync("/sdk/v1/identities/unlink", request, callOptions, cancellationToken);
        }

        /// <summary>The player's logins that go on, on all devices, the last used first.</summary>
        public async Task<IReadOnlyList<Session>> SessionsAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await caller.PostAsync("/sdk/v1/sessions/list", "{}", callOptions, cancellationToken);
            return Caller.Understood(() => body.List("sessions", Session.Read));
        }

        /// <summary>Ends one session. Returns whether it had not ended before.</summary>
        public async Task<bool> EndSessionAsync(
            string sessionId,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (sessionId == null) throw new ArgumentNullException("sessionId");
            return await EndAsync(sessionId, callOptions, cancellationToken) > 0;
        }

        /// <summary>Ends all sessions except that of this client. Returns their number.</summary>
        public Task<int> EndOtherSessionsAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return EndAsync("others", callOptions, cancellationToken);
        }

        /// <summary>Ends all sessions, and logs out here. Returns their number.</summary>
        public async Task<int> EndAllSessionsAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var ended = await EndAsync("all", callOptions, cancellationToken);
            await caller.Tokens.ForgetAsync();
            return ended;
        }

        /// <summary>All that is stored of the player: lines, each of which is a JSON object.</summary>
        public async Task<string> ExportAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/player/export",
                Body = "{}",
                IsOfPlayer = true,
                IsOfLines = true,
                Options = callOptions,
            };
            var lines = await caller.MakeAsync(call, cancellationToken);
            return string.Join("\n", lines.Items.Select(line => line.Raw));
        }

        /// <summary>
        /// Deletes the player after the delay that its environment sets, and logs it out on all devices. A login before
        /// then cancels it, so do not log the player in again by yourself.
        /// </summary>
        /// <returns>The time of the deletion.</returns>
        public async Task<DateTimeOffset> DeleteAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/player/delete",
                Body = "{}",
                IsOfPlayer = true,
                IsChanging = true,
                Options = callOptions,
            };
            var body = await caller.MakeAsync(call, cancellationToken);
            var deleteAt = Caller.Understood(() => body.Moment("deleteAt"));
            await caller.Tokens.ForgetAsync();
            return deleteAt;
        }

        private async Task<int> EndAsync(string session, CallOptions callOptions, CancellationToken cancellationToken)
        {
            var request = new JsonWriter().BeginObject().Name("session").Value(session);
            var body = await ChangeAsync("/sdk/v1/sessions/end", request, callOptions, cancellationToken);
            return Caller.Understood(() => body.Int32("ended"));
        }

        /// <summary>An idempotent change.</summary>
        private Task<JsonValue> ChangeAsync(
            string path,
            JsonWriter request,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var body = request.EndObject().ToString();
            var call = new Call
            {
                Path = path,
                Body = body,
                IsOfPlayer = true,
                IsChanging = true,
                Options = callOptions,
            };
            return caller.MakeAsync(call, cancellationToken);
        }
    }

    /// <summary>An identity of the logged-in player.</summary>
    public sealed class OwnIdentity
    {
        /// <summary>
        /// <c>custom</c>, <c>custom:</c> and the name of another custom provider, <c>google</c>, <c>apple</c>,
        /// <c>oidc:</c> and the name of an issuer, or <c>device</c>.
        /// </summary>
        public string Provider { get; private set; }

        /// <summary>The provider's own id of the player. Of a device, a hash of its id.</summary>
        public string Subject { get; private set; }

        /// <summary>The time at which it was linked.</summary>
        public DateTimeOffset CreatedAt { get; private set; }

        internal static OwnIdentity Read(JsonValue value)
        {
            return new OwnIdentity
            {
                Provider = value.Text("provider"),
                Subject = value.Text("subject"),
                CreatedAt = value.Moment("createdAt"),
            };
        }
    }

    /// <summary>A login of the player that goes on.</summary>
    public sealed class Session
    {
        public string SessionId { get; private set; }

        /// <summary>The name of the device, as its client gave it; null for none.</summary>
        public string Device { get; private set; }

        /// <summary>The time of the login.</summary>
        public DateTimeOffset CreatedAt { get; private set; }

        /// <summary>The time of its last refresh, or of the login.</summary>
        public DateTimeOffset LastUsedAt { get; private set; }

        /// <summary>Whether it is the session of this client.</summary>
        public bool IsCurrent { get; private set; }

        internal static Session Read(JsonValue value)
        {
            return new Session
            {
                SessionId = value.Text("sessionId"),
                Device = value.TextOrNull("device"),
                CreatedAt = value.Moment("createdAt"),
                LastUsedAt = value.Moment("lastUsedAt"),
                IsCurrent = value.Member("isCurrent").AsBoolean(),
            };
        }
    }
}
