using System;
using System.Collections.Generic;
using System.Text;

namespace Tierway
{
    /// <summary>A request that was refused, or that got no answer.</summary>
    public sealed class TierwayException : Exception
    {
        internal TierwayException(string code, string message, Exception cause = null)
            : base(message, cause)
        {
            Code = code;
            Details = new ErrorDetail[0];
        }

        /// <summary>The status over HTTP; 0 when there was no answer.</summary>
        public int Status { get; internal set; }

        /// <summary>The code to match on: see <see cref="ErrorCodes"/>.</summary>
        public string Code { get; private set; }

        /// <summary>Each fault of an invalid request.</summary>
        public IReadOnlyList<ErrorDetail> Details { get; internal set; }

        /// <summary>
        /// Further facts of a refusal, such as <c>conflict</c>; null for the others.
        /// </summary>
        public JsonValue Facts { get; internal set; }

        /// <summary>The id of the request in the service's log; null without an answer.</summary>
        public string RequestId { get; internal set; }

        /// <summary>Whether the same call may succeed later.</summary>
        public bool Retryable { get; internal set; }

        /// <summary>
        /// Whether a changing call may have taken effect. Make it again with <see cref="IdempotencyKey"/>: it takes
        /// effect once.
        /// </summary>
        public bool IsOutcomeUnknown { get; internal set; }

        /// <summary>The key of a changing call; null for others.</summary>
        public string IdempotencyKey { get; internal set; }

        /// <summary>How long the service asks to wait; null without such a request.</summary>
        public TimeSpan? RetryAfter { get; internal set; }

        public override string Message
        {
            get
            {
                var told = new StringBuilder(base.Message);
                foreach (var detail in Details) told.Append("; ").Append(detail);
                if (RequestId != null) told.Append(" (request ").Append(RequestId).Append(')');
                return told.ToString();
            }
        }

        /// <summary>The same for another caller: one failure may end several calls.</summary>
        internal TierwayException Again()
        {
            return new TierwayException(Code, base.Message, this)
            {
                Status = Status,
                Details = Details,
                Facts = Facts,
                RequestId = RequestId,
                Retryable = Retryable,
                IsOutcomeUnknown = IsOutcomeUnknown,
                IdempotencyKey = IdempotencyKey,
                RetryAfter = RetryAfter,
            };
        }
    }

    /// <summary>One fault of a request: its path and a message.</summary>
    public sealed class ErrorDetail
    {
        public ErrorDetail(string path, string message)
        {
            Path = path;
            Message = message;
        }

        public string Path { get; private set; }

        public string Message { get; private set; }

        public override string ToString()
        {
            return Path.Length == 0 ? Message : Path + ' ' + Message;
        }
    }

    /// <summary>Codes of <see cref="TierwayException"/>. The service may send others, too.</summary>
    public static class ErrorCodes
    {
        // Of this package.

        /// <summary>No answer: the network failed, or the service is down.</summary>
        public const string Network = "network_error";

        /// <summary>No answer in time.</summary>
        public const string Timeout = "timeout";

        /// <summary>The answer is not from the service, but from a proxy or the log-in page of a network.</summary>
        public const string InvalidResponse = "invalid_response";

        /// <summary>No player is logged in.</summary>
        public const string NotSignedIn = "not_signed_in";

        // Of the service.

        public const string InvalidRequest = "invalid_request";
        public const string StorageLimitExceeded = "storage_limit_exceeded";
        public const string InvalidSdkKey = "invalid_sdk_key";
        public const string InvalidToken = "invalid_token";
        public const string CustomAuthDisabled = "custom_auth_disabled";
        public const string CustomAuthRejected = "custom_auth_rejected";
        public const string CustomAuthInvalidData = "custom_auth_invalid_data";
        public const string CustomAuthInvalidResponse = "custom_auth_invalid_response";
        public const string CustomAuthUnavailable = "custom_auth_unavailable";
        public const string SignInDisabled = "sign_in_disabled";
        public const string IdTokenRejected = "id_token_rejected";
        public const string SignInUnavailable = "sign_in_unavailable";
        public const string PlayerBanned = "player_banned";
        public const string PlayerDeleted = "player_deleted";
        public const string ProfileNotAllowed = "profile_not_allowed";
        public const string XpNotAllowed = "xp_not_allowed";
        public const string Forbidden = "forbidden";
        public const string HandleServerOwned = "handle_is_server_owned";
        public const string ScenarioNotFound = "scenario_not_found";
        public const string NodeNotFound = "node_not_found";
        public const string RunNotFound = "run_not_found";
        public const string RunNotActive = "run_not_active";
        public const string NodeNotActive = "node_not_active";
        public const string SeasonClosed = "season_closed";
        public const string XpLimitReached = "xp_limit_reached";
        public const string XpLimitExceeded = "xp_limit_exceeded";
        public const string BalanceLimitExceeded = "balance_limit_exceeded";
        public const string LastIdentity = "last_identity";
        public const string TooManySessions = "too_many_sessions";
        public const string IdentityAlreadyLinked = "identity_already_linked";
        public const string CursorExpired = "cursor_expired";
        public const string PayloadTooLarge = "payload_too_large";
        public const string IdempotencyKeyReused = "idempotency_key_reused";
        public const string RateLimited = "rate_limited";
        public const string InternalError = "internal_error";
        public const string Unavailable = "unavailable";
    }
}
