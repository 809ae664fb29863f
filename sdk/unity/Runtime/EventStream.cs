using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Runtime.ExceptionServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Which events a game receives. What is not set does not exclude any.</summary>
    public sealed class EventFilter
    {
        /// <summary>Only these handles: see <see cref="Tierway.Handles"/>.</summary>
        public IEnumerable<string> Handles { get; set; }

        /// <summary>Only this scenario.</summary>
        public string ScenarioId { get; set; }

        /// <summary>Only this node.</summary>
        public string NodeId { get; set; }
    }

    /// <summary>Listens to the player's events over server-sent events, until it is cancelled.</summary>
    internal sealed class EventStream
    {
        private const string EndDocument = "query StreamCursor { streamCursor }";
        private const string EventsDocument =
            "subscription Events($after: String!, $handles: [String!], $scenarioId: String, $nodeId: String) {"
            + " events(after: $after, handles: $handles, scenarioId: $scenarioId, nodeId: $nodeId) {"
            + " cursor type occurredAt handle playerId scenarioId nodeId runId data } }";
        /// <summary>After this number of streams in a row that end without an event, the login is checked.</summary>
        private const int EndingsBeforeDoubt = 2;
        private static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(250);
        private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(10);

        private readonly TierwayOptions options;
        private readonly Caller caller;
        private readonly Func<TierwayEvent, Task> onEvent;
        private readonly EventFilter filter;
        private readonly Backoff backoff = new Backoff();
        /// <summary>The cursor of the last delivered event; null for the current end.</summary>
        private string cursor;
        private TimeSpan wait = ShortestWait;
        /// <summary>Whether the token was replaced since the last event.</summary>
        private bool isRenewed;
        private int endings;
        /// <summary>The exception of the handler.</summary>
        private ExceptionDispatchInfo thrown;

        public EventStream(
            TierwayOptions options,
            Caller caller,
            Func<TierwayEvent, Task> onEvent,
            string after,
            EventFilter filter)
        {
            this.options = options;
            this.caller = caller;
            this.onEvent = onEvent;
            this.filter = filter ?? new EventFilter();
            cursor = after;
        }

        /// <summary>Ends with a cancellation, an exception of the handler, or a permanent error.</summary>
        public async Task ListenAsync(CancellationToken cancellationToken)
        {
            HeldPair first = null;
            while (true)
            {
                cancellationToken.ThrowIfCancellationRequested();
                var watch = Stopwatch.StartNew();
                TokenPair pair = null;
                TierwayException refused = null;
                try
                {
                    first = first ?? await caller.HeldAsync(null, cancellationToken);
                    // Without a cursor, listening begins at the current end: all later events are received, even if the
                    // connection breaks before the first one.
                    if (cursor == null) cursor = await ReadEndAsync(caller, cancellationToken);
                    // After the login of another player it throws: these are not that player's events.
                    pair = (await caller.HeldAsync(first, cancellationToken)).Pair;
                    await HearAsync(pair, cancellationToken);
                }
                catch (TierwayException error)
                {
                    refused = error;
                }
                catch (IOException)
                {
                    // The connection broke.
                }
                catch (TimeoutException)
                {
                    // The connection was silent for too long.
                }
                catch (FormatException)
                {
                    // An invalid event is not from the service.
                }
                catch (DecoderFallbackException)
                {
                    // The same for bytes that are not UTF-8.
                }
                if (thrown != null) thrown.Throw();
                cancellationToken.ThrowIfCancellationRequested();

                var isTokenRefused = refused != null && refused.Code == ErrorCodes.InvalidToken && pair != null;
                if (isTokenRefused && !isRenewed)
                {
                    isRenewed = await RenewAsync(pair, cancellationToken);
                    if (isRenewed) continue;
                }
                else if (refused != null && !IsPassing(refused))
                {
                    throw refused.Again();
                }
                else if (endings >= EndingsBeforeDoubt)
                {
                    // The service ends streams when it stops, and when a login has ended. A refresh shows which.
                    await RenewAsync(pair, cancellationToken);
                    endings = 0;
                }
                if (watch.Elapsed > LongestWait)
                {
                    wait = ShortestWait;
                    endings = 0;
                }
                var now = backoff.HalfJitter(wait);
                if (refused != null && refused.RetryAfter > now) now = refused.RetryAfter.Value;
                await options.Transport.DelayAsync(now, cancellationToken);
                wait = wait + wait < LongestWait ? wait + wait : LongestWait;
            }
        }

        /// <summary>Delivers the events of one connection.</summary>
        private async Task HearAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            using (var stream = await caller.OpenAsync(Request(), pair, cancellationToken))
            {
                var frames = new FrameReader(options, stream);
                while (true)
                {
                    var frame = await frames.NextAsync(cancellationToken);
                    if (frame == null) break;
                    var happened = EventOf(frame);
                    thrown = await TellAsync(happened);
                    if (thrown != null) return;
                    cursor = happened.Cursor;
                    wait = ShortestWait;
                    isRenewed = false;
                    endings = 0;
                }
                if (frames.IsComplete) endings++;
            }
        }

        /// <summary>The cursor of the current end of the player's events.</summary>
        public static async Task<string> ReadEndAsync(Caller caller, CancellationToken cancellationToken)
        {
            var body = new JsonWriter().BeginObject().Name("query").Value(EndDocument).EndObject().ToString();
            var call = new Call { Path = "/graphql", Body = body, IsOfPlayer = true, IsGraphql = true };
            var answer = await caller.MakeAsync(call, cancellationToken);
            return Caller.Understood(() => answer.Text("streamCursor"));
        }

        /// <summary>False when the network failed.</summary>
        private async Task<bool> RenewAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            try
            {
                await caller.Tokens.RenewAsync(pair, cancellationToken);
                return true;
            }
            catch (TierwayException error)
            {
                if (IsPassing(error)) return false;
                throw;
            }
        }

        /// <summary>Calls the handler. Returns its exception; null when it succeeds.</summary>
        private async Task<ExceptionDispatchInfo> TellAsync(TierwayEvent happened)
        {
            try
            {
                await onEvent(happened);
                return null;
            }
            catch (Exception error)
            {
                return ExceptionDispatchInfo.Capture(error);
            }
        }

        private static TierwayEvent EventOf(string frame)
        {
            var result = Json.Parse(frame);
            var error = Caller.GraphqlError(result, null);
            if (error != null) throw error;
            return TierwayEvent.Read(result.Member("data").Member("events"));
        }

        private static bool IsPassing(TierwayException error)
        {
            return error.Retryable || error.Code == ErrorCodes.InternalError;
        }

        private string Request()
        {
            var body = new JsonWriter()
                .BeginObject()
                .Name("query")
                .Value(EventsDocument)
                .Name("variables")
                .BeginObject()
                .Name("after")
                .Value(cursor);
            if (filter.Handles != null)
            {
                body.Name("handles").BeginArray();
                foreach (var handle in filter.Handles) body.Value(handle);
                body.EndArray();
            }
            if (filter.ScenarioId != null) body.Name("scenarioId").Value(filter.ScenarioId);
            if (filter.NodeId != null) body.Name("nodeId").Value(filter.NodeId);
            return body.EndObject().EndObject().ToString();
        }
    }

    /// <summary>Reads the data of server-sent events that carry results.</summary>
    internal sealed class FrameReader
    {
        private const int MaxLineBytes = 4 * 1024 * 1024;
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        private readonly TierwayOptions options;
        private readonly ITransportStream stream;
        private readonly byte[] buffer = new byte[16 * 1024];
        private readonly MemoryStream line = new MemoryStream();
        private int at;
        private int length;

        public FrameReader(TierwayOptions options, ITransportStream stream)
        {
            this.options = options;
            this.stream = stream;
        }

        /// <summary>Whether the service has completed the stream.</summary>
        public bool IsComplete { get; private set; }

        /// <summary>The next result; null when the service has ended the stream, or the connection.</summary>
        public async Task<string> NextAsync(CancellationToken cancellationToken)
        {
            var name = "";
            var data = new List<string>();
            while (true)
            {
                var text = await ReadLineAsync(cancellationToken);
                if (text == null) return null;
                if (text.Length == 0)
                {
                    IsComplete = name == "complete";
                    if (IsComplete) return null;
                    if (name == "next") return string.Join("\n", data);
                    name = "";
                    data.Clear();
                }
                else if (IsField(text, "event"))
                {
                    name = ValueOf(text, "event");
                }
                else if (IsField(text, "data"))
                {
                    data.Add(ValueOf(text, "data"));
                }
            }
        }

        private static bool IsField(string text, string name)
        {
            return text.StartsWith(name, StringComparison.Ordinal)
                && (text.Length == name.Length || text[name.Length] == ':');
        }

        private static string ValueOf(string text, string name)
        {
            var value = text.Length == name.Length ? "" : text.Substring(name.Length + 1);
            return value.StartsWith(" ", StringComparison.Ordinal) ? value.Substring(1) : value;
        }

        private async Task<string> ReadLineAsync(CancellationToken cancellationToken)
        {
            line.SetLength(0);
            while (true)
            {
                var end = Array.IndexOf(buffer, (byte)'\n', at, length - at);
                line.Write(buffer, at, (end < 0 ? length : end) - at);
                at = end < 0 ? length : end + 1;
                if (end >= 0) return Utf8.GetString(line.GetBuffer(), 0, (int)line.Length).TrimEnd('\r');
                if (line.Length > MaxLineBytes) throw new IOException("a line of the stream is too long");
                length = await options.Transport.WithinAsync(
                    options.EventSilence,
                    token => stream.ReadAsync(buffer, token),
                    cancellationToken);
                at = 0;
                if (length == 0) return null;
            }
        }
    }
}
