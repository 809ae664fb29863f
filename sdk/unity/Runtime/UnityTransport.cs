#if UNITY_5_3_OR_NEWER
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;
using UnityEngine.Networking;

namespace Tierway
{
    /// <summary>Carries requests by UnityWebRequest. Call it on Unity's main thread.</summary>
    public sealed class UnityTransport : ITransport
    {
        /// <summary>
        /// Continuations run in a frame of the game, not within a callback of the engine. Such a task is only awaited,
        /// in Unity's context: WhenAny of it needs a thread pool, which WebGL has not.
        /// </summary>
        private const TaskCreationOptions Later = TaskCreationOptions.RunContinuationsAsynchronously;

        public async Task<TransportResponse> SendAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            cancellationToken.ThrowIfCancellationRequested();
            using (var web = WebOf(request, new DownloadHandlerBuffer()))
            {
                var ended = Send(web);
                using (AbortWith(web, cancellationToken)) await ended;
                cancellationToken.ThrowIfCancellationRequested();
                if (IsBroken(web)) throw new TransportException(web.error);
                var headers = HeadersOf(web);
                return new TransportResponse(
                    (int)web.responseCode,
                    web.downloadHandler.data ?? new byte[0],
                    name => Find(headers, name));
            }
        }

        public async Task<ITransportStream> OpenAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var chunks = new Chunks();
            var web = WebOf(request, chunks);
            try
            {
                var ended = Send(web);
                EndWith(chunks, ended);
                using (AbortWith(web, cancellationToken)) await chunks.WaitAsync();
                cancellationToken.ThrowIfCancellationRequested();
                if (chunks.IsEmpty && IsBroken(web)) throw new TransportException(web.error);
                return new WebStream(web, chunks, ended);
            }
            catch
            {
                web.Dispose();
                throw;
            }
        }

        public async Task DelayAsync(TimeSpan delay, CancellationToken cancellationToken)
        {
#if UNITY_WEBGL && !UNITY_EDITOR
            // There are no threads, and so no timers: wait by frames.
            var until = Time.realtimeSinceStartupAsDouble + delay.TotalSeconds;
            while (Time.realtimeSinceStartupAsDouble < until)
            {
                cancellationToken.ThrowIfCancellationRequested();
                await Task.Yield();
            }
#else
            await Task.Delay(delay, cancellationToken);
#endif
        }

        public void Dispose() { }

        private static UnityWebRequest WebOf(TransportRequest request, DownloadHandler download)
        {
            var upload = new UploadHandlerRaw(request.Body) { contentType = "application/json" };
            var web = new UnityWebRequest(request.Url, UnityWebRequest.kHttpVerbPOST, download, upload)
            {
                redirectLimit = 0,
                useHttpContinue = false,
            };
            foreach (var header in request.Headers) web.SetRequestHeader(header.Key, header.Value);
            return web;
        }

        private static Task Send(UnityWebRequest web)
        {
            var ended = new TaskCompletionSource<bool>(Later);
            web.SendWebRequest().completed += operation => ended.TrySetResult(true);
            return ended.Task;
        }

        private static async void EndWith(Chunks chunks, Task ended)
        {
            await ended;
            chunks.End();
        }

        /// <summary>A token may be cancelled on any thread, but only the main thread can abort a request.</summary>
        private static CancellationTokenRegistration AbortWith(UnityWebRequest web, CancellationToken cancellationToken)
        {
            var main = SynchronizationContext.Current;
            return cancellationToken.Register(() =>
            {
                if (main == null || main == SynchronizationContext.Current) Abort(web);
                else main.Post(state => Abort((UnityWebRequest)state), web);
            });
        }

        private static void Abort(UnityWebRequest web)
        {
            try
            {
                web.Abort();
            }
            catch (Exception)
            {
                // The request has ended and was disposed of meanwhile.
            }
        }

        private static bool IsBroken(UnityWebRequest web)
        {
            return web.result == UnityWebRequest.Result.ConnectionError
                || web.result == UnityWebRequest.Result.DataProcessingError
                || web.responseCode == 0;
        }

        private static Dictionary<string, string> HeadersOf(UnityWebRequest web)
        {
            var own = web.GetResponseHeaders();
            return own == null
                ? new Dictionary<string, string>()
                : new Dictionary<string, string>(own, StringComparer.OrdinalIgnoreCase);
        }

        private static string Find(Dictionary<string, string> headers, string name)
        {
            string value;
            return headers.TryGetValue(name, out value) ? value : null;
        }

        /// <summary>The arrived bytes that were not read yet.</summary>
        private sealed class Chunks : DownloadHandlerScript
        {
            private const int BufferBytes = 16 * 1024;

            private readonly Queue<byte[]> waiting = new Queue<byte[]>();
            private TaskCompletionSource<bool> news = new TaskCompletionSource<bool>(Later);
            private int taken;

            public Chunks()
                : base(new byte[BufferBytes]) { }

            public bool IsEmpty
            {
                get { return waiting.Count == 0; }
            }

            public bool HasEnded { get; private set; }

            public void End()
            {
                HasEnded = true;
                news.TrySetResult(true);
            }

            public async Task WaitAsync()
            {
                while (IsEmpty && !HasEnded) await news.Task;
            }

            public int Take(byte[] buffer)
            {
                if (IsEmpty) return 0;
                var first = waiting.Peek();
                var count = Math.Min(buffer.Length, first.Length - taken);
                Buffer.BlockCopy(first, taken, buffer, 0, count);
                taken += count;
                if (taken == first.Length)
                {
                    waiting.Dequeue();
                    taken = 0;
                }
                return count;
            }

            protected override bool ReceiveData(byte[] data, int dataLength)
            {
                if (data == null || dataLength == 0) return true;
                var chunk = new byte[dataLength];
                Buffer.BlockCopy(data, 0, chunk, 0, dataLength);
                waiting.Enqueue(chunk);
                var told = news;
                news = new TaskCompletionSource<bool>(Later);
                told.TrySetResult(true);
                return true;
            }
        }

        private sealed class WebStream : ITransportStream
        {
            private readonly UnityWebRequest web;
            private readonly Chunks chunks;
            private readonly Task ended;

            public WebStream(UnityWebRequest web, Chunks chunks, Task ended)
            {
                this.web = web;
                this.chunks = chunks;
                this.ended = ended;
                Status = (int)web.responseCode;
            }

            public int Status { get; private set; }

            public string Header(string name)
            {
                return web.GetResponseHeader(name);
            }

            public async Task<int> ReadAsync(byte[] buffer, CancellationToken cancellationToken)
            {
                cancellationToken.ThrowIfCancellationRequested();
                using (AbortWith(web, cancellationToken)) await chunks.WaitAsync();
                cancellationToken.ThrowIfCancellationRequested();
                var count = chunks.Take(buffer);
                if (count == 0 && IsBroken(web)) throw new TransportException(web.error);
                return count;
            }

            public void Dispose()
            {
                if (ended.IsCompleted) web.Dispose();
                else DisposeAborted();
            }

            private async void DisposeAborted()
            {
                Abort(web);
                await ended;
                web.Dispose();
            }
        }
    }
}
#endif
