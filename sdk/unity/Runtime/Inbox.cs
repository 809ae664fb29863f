using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>The inbox of the logged-in player: messages, and what is given with them.</summary>
    public sealed class Inbox
    {
        private readonly Caller caller;

        internal Inbox(Caller caller)
        {
            this.caller = caller;
        }

        /// <summary>A page of the messages, the newest first, with counts of the whole inbox.</summary>
        /// <param name="language">Such as <c>pt-BR</c>. Default: the language of the player's profile.</param>
        /// <param name="limit">Messages of the page: 1 to 100.</param>
        /// <param name="cursor">The cursor of the page before; null for the first page.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task<InboxPage> ListAsync(
            string language = null,
            int limit = 50,
            string cursor = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject().Name("limit").Value(limit);
            if (language != null) request.Name("language").Value(language);
            if (cursor != null) request.Name("cursor").Value(cursor);
            var body = await caller.PostAsync(
                "/sdk/v1/inbox/list",
                request.EndObject().ToString(),
                callOptions,
                cancellationToken);
            return Caller.Understood(() => InboxPage.Read(body));
        }

        /// <summary>
        /// Claims the rewards of one message. Repeated calls grant them once. The message is read, too. A "no" is data:
        /// see <see cref="MessageErrors"/>.
        /// </summary>
        /// <param name="messageId">The message.</param>
        /// <param name="idempotencyKey">Default: a random one.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task<ClaimResult> ClaimAsync(
            string messageId,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (messageId == null) throw new ArgumentNullException("messageId");
            var request = new JsonWriter().BeginObject().Name("messageId").Value(messageId);
            return await ChangeAsync(
                "/sdk/v1/inbox/claim",
                request,
                ClaimResult.Read,
                idempotencyKey,
                callOptions,
                cancellationToken);
        }

        /// <summary>
        /// Claims the rewards of all messages that fit, the oldest first, up to 100 messages. Repeat it while
        /// <see cref="ClaimedMessages.Remaining"/> falls.
        /// </summary>
        /// <param name="idempotencyKey">Default: a random one.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task<ClaimedMessages> ClaimAllAsync(
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject();
            return await ChangeAsync(
                "/sdk/v1/inbox/claim-all",
                request,
                ClaimedMessages.Read,
                idempotencyKey,
                callOptions,
                cancellationToken);
        }

        /// <summary>
        /// Marks messages as read: 1 to 100. Unknown ones are passed over. Returns the number of messages that were not
        /// read.
        /// </summary>
        public async Task<int> ReadAsync(
            IEnumerable<string> messageIds,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (messageIds == null) throw new ArgumentNullException("messageIds");
            var request = new JsonWriter().BeginObject().Name("messageIds").BeginArray();
            foreach (var messageId in messageIds) request.Value(messageId);
            return await ChangeAsync(
                "/sdk/v1/inbox/read",
                request.EndArray(),
                body => body.Int32("unread"),
                null,
                callOptions,
                cancellationToken);
        }

        private Task<T> ChangeAsync<T>(
            string path,
            JsonWriter request,
            Func<JsonValue, T> read,
            string key,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var call = new Call
            {
                Path = path,
                Body = request.EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(key),
                IsAnsweredByKey = true,
                Options = callOptions,
            };
            return caller.MakeAsync(call, read, cancellationToken);
        }
    }

    /// <summary>A page of the player's inbox, with counts of the whole inbox.</summary>
    public sealed class InboxPage
    {
        public IReadOnlyList<InboxMessage> Messages { get; private set; }

        /// <summary>The number of messages that were not read.</summary>
        public int Unread { get; private set; }

        /// <summary>The number of messages with rewards that can still be claimed.</summary>
        public int Unclaimed { get; private set; }

        /// <summary>For the next page. Null on the last page.</summary>
        public string Cursor { get; private set; }

        internal static InboxPage Read(JsonValue value)
        {
            return new InboxPage
            {
                Messages = value.List("messages", InboxMessage.Read),
                Unread = value.Int32("unread"),
                Unclaimed = value.Int32("unclaimed"),
                Cursor = value.TextOrNull("cursor"),
            };
        }
    }

    /// <summary>A message in the player's inbox.</summary>
    public sealed class InboxMessage
    {
        public string MessageId { get; private set; }

        /// <summary><c>message</c>, or <c>season_end</c> for what was left of a season.</summary>
        public string Kind { get; private set; }

        /// <summary>Null for a message for which the game has words of its own.</summary>
        public string Title { get; private set; }

        /// <summary>The text below the title. Null without a title.</summary>
        public string Body { get; private set; }

        /// <summary>The language of the title and the body. Null without them.</summary>
        public string Language { get; private set; }

        /// <summary>The picture: a URL, or a key of the game's own assets. Null without one.</summary>
        public string Image { get; private set; }

        /// <summary>What a claim grants. Empty for a message without rewards.</summary>
        public IReadOnlyList<Reward> Rewards { get; private set; }

        /// <summary>The boosts among the rewards. Empty without one.</summary>
        public IReadOnlyList<RewardBoost> Boosts { get; private set; }

        public DateTimeOffset SentAt { get; private set; }

        /// <summary>The first time at which it is no longer there.</summary>
        public DateTimeOffset ExpiresAt { get; private set; }

        public bool IsRead { get; private set; }

        public bool IsClaimed { get; private set; }

        /// <summary>The scenario of the season that the message is about. Null for none.</summary>
        public string ScenarioId { get; private set; }

        /// <summary>The pass of the season that the message is about. Null for none.</summary>
        public string NodeId { get; private set; }

        internal static InboxMessage Read(JsonValue value)
        {
            return new InboxMessage
            {
                MessageId = value.Text("messageId"),
                Kind = value.Text("kind"),
                Title = value.TextOrNull("title"),
                Body = value.TextOrNull("body"),
                Language = value.TextOrNull("language"),
                Image = value.TextOrNull("image"),
                Rewards = value.List("rewards", Reward.Read),
                Boosts = RewardBoost.ListOf(value),
                SentAt = value.Moment("sentAt"),
                ExpiresAt = value.Moment("expiresAt"),
                IsRead = value.Flag("isRead"),
                IsClaimed = value.Flag("isClaimed"),
                ScenarioId = value.TextOrNull("scenarioId"),
                NodeId = value.TextOrNull("nodeId"),
            };
        }
    }

    /// <summary>The messages that a call has claimed.</summary>
    public sealed class ClaimedMessages
    {
        /// <summary>The oldest first.</summary>
        public IReadOnlyList<GrantedMessage> Claimed { get; private set; }

        /// <summary>The number of messages with rewards that can still be claimed.</summary>
        public int Remaining { get; private set; }

        /// <summary>Why nothing was claimed. Null when a message was claimed, or when there was none.</summary>
        public string Error { get; private set; }

        internal static ClaimedMessages Read(JsonValue value)
        {
            return new ClaimedMessages
            {
                Claimed = value.List("claimed", GrantedMessage.Read),
                Remaining = value.Int32("remaining"),
                Error = value.TextOrNull("error"),
            };
        }
    }

    /// <summary>A claimed message, with its granted rewards.</summary>
    public sealed class GrantedMessage
    {
        public string MessageId { get; private set; }

        public IReadOnlyList<Reward> Granted { get; private set; }

        /// <summary>The boosts among the rewards. Empty without one.</summary>
        public IReadOnlyList<RewardBoost> Boosts { get; private set; }

        internal static GrantedMessage Read(JsonValue value)
        {
            return new GrantedMessage
            {
                MessageId = value.Text("messageId"),
                Granted = value.List("granted", Reward.Read),
                Boosts = RewardBoost.ListOf(value),
            };
        }
    }

    /// <summary>Why a message cannot be claimed.</summary>
    public static class MessageErrors
    {
        public const string MessageNotFound = "message not found";
        public const string MessageExpired = "message expired";
        public const string BalanceLimitExceeded = "balance limit exceeded";
    }
}
