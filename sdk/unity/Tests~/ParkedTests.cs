using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    /// <summary>WebGL has one thread: what is left to the thread pool never runs.</summary>
    internal static class ParkedTests
    {
        public static async Task RefreshAsync()
        {
            var options = Program.Options();
            options.Transport = new FrameTransport();
            var storage = new MemoryTokenStorage();
            await storage.SaveAsync(await LoginTests.RefusedPairAsync(), CancellationToken.None);
            options.TokenStorage = storage;
            var client = new TierwayClient(options);
            using (var cancelling = new CancellationTokenSource())
            using (var pool = new ParkedPool())
            {
                var calls = Enumerable.Range(0, 4)
                    .Select(number => client.PlayerAsync(cancellationToken: number % 2 == 0 ? cancelling.Token : CancellationToken.None));
                await Task.WhenAll(calls);
                Check.True(pool.IsParked, "a refresh needs no thread pool");
            }
        }

        /// <summary>Two logins of a guest at once wait for each other, and so do their writes to the storages.</summary>
        public static async Task TurnsAsync()
        {
            var options = Program.Options();
            options.Transport = new FrameTransport();
            options.DeviceStorage = new SlowTextStorage();
            options.TokenStorage = new SlowTokenStorage();
            var client = new TierwayClient(options);
            using (var cancelling = new CancellationTokenSource())
            using (var pool = new ParkedPool())
            {
                var request = new GuestRequest { Nickname = "Guest" };
                await Task.WhenAll(Enumerable.Range(0, 3).Select(number => client.LoginGuestAsync(request, cancellationToken: cancelling.Token)));
                await client.PlayerAsync();
                Check.True(pool.IsParked, "a turn needs no thread pool");
            }
        }

        public static async Task OutboxAsync()
        {
            var options = Program.Options();
            options.Transport = new FrameTransport();
            var client = await Program.NewPlayerAsync(options);
            var session = await client.Scenario("long").StartAsync();
            using (var pool = new ParkedPool())
            using (var outbox = new Outbox(client, new SlowTextStorage()))
            {
                await Task.WhenAll(Enumerable.Range(0, 5).Select(number => outbox.AddXpAsync(session.BattlePass("pass"), 1)));
                await outbox.FlushAsync();
                Check.Equal(5L, (await session.BattlePass("pass").ProgressAsync()).Xp, "what is sent");
                Check.True(pool.IsParked, "an outbox needs no thread pool");
            }
        }

        /// <summary>A follower that leaves while its stream begins does not let calls pass by the stream of the next one.</summary>
        public static async Task FollowAsync()
        {
            var raised = new List<DetailedCrossing>();
            var following = new Following(new FrameTransport(), crossed => raised.Add(crossed));
            var ends = new List<TaskCompletionSource<string>>();
            Func<CancellationToken, Task<string>> readEnd = token =>
            {
                var end = new TaskCompletionSource<string>();
                ends.Add(end);
                return end.Task.OrCancelledAsync(token);
            };
            var heard = new List<Action<DetailedCrossing>>();
            Func<string, Action<DetailedCrossing>, CancellationToken, Task> listen = (after, hear, token) =>
            {
                heard.Add(hear);
                return new TaskCompletionSource<bool>().Task.OrCancelledAsync(token);
            };
            var crossing = new DetailedCrossing(new Crossing { NodeId = "a", Handle = "onClick" }, null);
            using (var pool = new ParkedPool())
            using (var first = new CancellationTokenSource())
            using (var second = new CancellationTokenSource())
            {
                var left = following.FollowAsync(readEnd, listen, first.Token);
                first.Cancel();
                var stays = following.FollowAsync(readEnd, listen, second.Token);
                await Check.ThrowsAsync<OperationCanceledException>(() => left, "the first one has left");
                var isMade = false;
                var call = following.DuringAsync(
                    () =>
                    {
                        isMade = true;
                        following.Answered(crossing);
                        return Task.FromResult(true);
                    },
                    CancellationToken.None);
                for (var frame = 0; frame < 20; frame++) await Task.Yield();
                Check.True(!isMade, "a call waits until the stream has begun");
                ends.Last().SetResult("cursor");
                await call;
                Check.Equal(0, raised.Count, "the event is to raise it");
                heard.Last()(crossing);
                Check.Equal(1, raised.Count, "once");
                second.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stays, "the second one has left");
                heard.Last()(crossing);
                Check.Equal(1, raised.Count, "nothing after the end");
                Check.True(pool.IsParked, "following needs no thread pool");
            }
        }
    }

    /// <summary>Keeps every thread of the pool busy, for at most 20 seconds.</summary>
    internal sealed class ParkedPool : IDisposable
    {
        private readonly ManualResetEvent open = new ManualResetEvent(false);
        private readonly int workers;
        private readonly int ports;

        public ParkedPool()
        {
            int least, leastPorts;
            ThreadPool.GetMaxThreads(out workers, out ports);
            ThreadPool.GetMinThreads(out least, out leastPorts);
            ThreadPool.SetMaxThreads(least, ports);
            for (var one = 0; one < 4 * least; one++) ThreadPool.QueueUserWorkItem(state => open.WaitOne());
            var limit = new Thread(() =>
            {
                if (!open.WaitOne(TimeSpan.FromSeconds(20))) open.Set();
            });
            limit.IsBackground = true;
            limit.Start();
        }

        public bool IsParked
        {
            get { return !open.WaitOne(0); }
        }

        public void Dispose()
        {
            open.Set();
            ThreadPool.SetMaxThreads(workers, ports);
        }
    }

    internal sealed class SlowTextStorage : ITextStorage
    {
        private string kept;

        public async Task<string> LoadAsync(CancellationToken cancellationToken)
        {
            await Task.Yield();
            return kept;
        }

        public async Task SaveAsync(string text, CancellationToken cancellationToken)
        {
            await Task.Yield();
            kept = text;
        }
    }

    internal sealed class SlowTokenStorage : ITokenStorage
    {
        private TokenPair kept;

        public async Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            await Task.Yield();
            return kept;
        }

        public async Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            for (var frame = 0; frame < 20; frame++) await Task.Yield();
            kept = pair;
        }
    }

    /// <summary>
    /// Answers and waits by frames of the one thread, as browsers do for WebGL: sockets have threads of their own, and
    /// nothing is left to the pool.
    /// </summary>
    internal sealed class FrameTransport : ITransport
    {
        public Task<TransportResponse> SendAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            var frames = SynchronizationContext.Current;
            var ended = new TaskCompletionSource<TransportResponse>();
            new Thread(() =>
            {
                try
                {
                    var answer = Exchange(request);
                    frames.Post(state => ended.TrySetResult(answer), null);
                }
                catch (Exception error)
                {
                    frames.Post(state => ended.TrySetException(new TransportException(error.Message, error)), null);
                }
            }) { IsBackground = true }.Start();
            return ended.Task;
        }

        public Task<ITransportStream> OpenAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            throw new NotSupportedException();
        }

        public async Task DelayAsync(TimeSpan delay, CancellationToken cancellationToken)
        {
            var watch = Stopwatch.StartNew();
            while (watch.Elapsed < delay)
            {
                cancellationToken.ThrowIfCancellationRequested();
                Thread.Sleep(1);
                await Task.Yield();
            }
        }

        public void Dispose() { }

        private static TransportResponse Exchange(TransportRequest request)
        {
            using (var socket = new TcpClient(request.Url.Host, request.Url.Port))
            {
                var head = new StringBuilder("POST " + request.Url.PathAndQuery + " HTTP/1.1\r\n");
                head.Append("Host: " + request.Url.Authority + "\r\nConnection: close\r\nContent-Type: application/json\r\n");
                foreach (var header in request.Headers) head.Append(header.Key + ": " + header.Value + "\r\n");
                head.Append("Content-Length: " + request.Body.Length + "\r\n\r\n");
                var bytes = Encoding.ASCII.GetBytes(head.ToString());
                var stream = socket.GetStream();
                stream.Write(bytes, 0, bytes.Length);
                stream.Write(request.Body, 0, request.Body.Length);
                return Read(stream);
            }
        }

        private static TransportResponse Read(Stream stream)
        {
            var status = int.Parse(Line(stream).Split(' ')[1]);
            var headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
            for (var line = Line(stream); line != ""; line = Line(stream))
            {
                var parts = line.Split(new[] { ':' }, 2);
                headers[parts[0]] = parts[1].Trim();
            }
            var body = new MemoryStream();
            if (headers.ContainsKey("transfer-encoding"))
                for (var size = Size(stream); size > 0; size = Size(stream))
                {
                    Copy(stream, body, size);
                    Line(stream);
                }
            else Copy(stream, body, int.Parse(headers["content-length"]));
            return new TransportResponse(
                status,
                body.ToArray(),
                name => headers.ContainsKey(name) ? headers[name] : null);
        }

        private static int Size(Stream stream)
        {
            return Convert.ToInt32(Line(stream), 16);
        }

        private static string Line(Stream stream)
        {
            var line = new StringBuilder();
            for (var one = stream.ReadByte(); one != '\n'; one = stream.ReadByte())
            {
                if (one < 0) throw new EndOfStreamException();
                if (one != '\r') line.Append((char)one);
            }
            return line.ToString();
        }

        private static void Copy(Stream stream, Stream body, int count)
        {
            for (var left = count; left > 0; left--)
            {
                var one = stream.ReadByte();
                if (one < 0) throw new EndOfStreamException();
                body.WriteByte((byte)one);
            }
        }
    }
}
