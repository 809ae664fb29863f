using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// Waiting with a time limit, in the context of the caller. Nothing here may need the thread pool, since WebGL has
    /// none: WhenAny of a task with RunContinuationsAsynchronously does, and so does a SemaphoreSlim that is waited for.
    /// </summary>
    internal static class Waiting
    {
        /// <summary>
        /// Runs work within a time limit. Work that ignores its token is abandoned, and its later result is disposed
        /// of.
        /// </summary>
        /// <exception cref="TimeoutException">The limit was reached.</exception>
        public static async Task<T> WithinAsync<T>(
            this ITransport transport,
            TimeSpan limit,
            Func<CancellationToken, Task<T>> work,
            CancellationToken cancellationToken)
        {
            cancellationToken.ThrowIfCancellationRequested();
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken))
            {
                var running = work(both.Token);
                var timer = transport.DelayAsync(limit, both.Token);
                var first = await Task.WhenAny(running, timer);
                both.Cancel();
                if (first == running) return await running;
                Abandon(running);
                cancellationToken.ThrowIfCancellationRequested();
                throw new TimeoutException("no answer within " + limit.TotalSeconds + " s");
            }
        }

        /// <summary>Waits for a shared task. A cancellation ends only this wait.</summary>
        public static async Task<T> OrCancelledAsync<T>(this Task<T> shared, CancellationToken cancellationToken)
        {
            if (shared.IsCompleted || !cancellationToken.CanBeCanceled) return await shared;
            var cancelled = new TaskCompletionSource<T>();
            using (cancellationToken.Register(() => cancelled.TrySetCanceled()))
            {
                var first = await Task.WhenAny(shared, cancelled.Task);
                if (first != shared) cancellationToken.ThrowIfCancellationRequested();
                return await shared;
            }
        }

        private static async void Abandon<T>(Task<T> running)
        {
            try
            {
                var late = await running as IDisposable;
                if (late != null) late.Dispose();
            }
            catch (Exception)
            {
                // No caller waits for it any more.
            }
        }
    }

    /// <summary>Lets one after the other work, in the order in which they came.</summary>
    internal sealed class Turns
    {
        private readonly Queue<TaskCompletionSource<bool>> waiting = new Queue<TaskCompletionSource<bool>>();
        private bool isTaken;

        /// <summary>Waits for a turn, which ends with <see cref="Release"/>. A cancelled wait takes no turn.</summary>
        public async Task WaitAsync(CancellationToken cancellationToken)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var mine = new TaskCompletionSource<bool>();
            lock (waiting)
            {
                if (!isTaken)
                {
                    isTaken = true;
                    return;
                }
                waiting.Enqueue(mine);
            }
            using (cancellationToken.Register(() => mine.TrySetCanceled())) await mine.Task;
        }

        public void Release()
        {
            while (true)
            {
                TaskCompletionSource<bool> next;
                lock (waiting)
                {
                    if (waiting.Count == 0)
                    {
                        isTaken = false;
                        return;
                    }
                    next = waiting.Dequeue();
                }
                // Outside of the lock: the code behind the wait runs within this call.
                if (next.TrySetResult(true)) return;
            }
        }
    }

    /// <summary>
    /// The wait before a retry: longer each time and partly random, so that clients do not all return at once.
    /// </summary>
    internal sealed class Backoff
    {
        private readonly Random random = new Random();

        /// <summary>A random time from zero up to the full wait.</summary>
        public TimeSpan FullJitter(TimeSpan shortest, TimeSpan longest, int retries)
        {
            var most = Math.Min(longest.TotalMilliseconds, shortest.TotalMilliseconds * Math.Pow(2, retries));
            return TimeSpan.FromMilliseconds(most * Draw());
        }

        /// <summary>A random time from half of the wait up to all of it.</summary>
        public TimeSpan HalfJitter(TimeSpan wait)
        {
            return TimeSpan.FromMilliseconds(wait.TotalMilliseconds * (0.5 + Draw() / 2));
        }

        private double Draw()
        {
            lock (random) return random.NextDouble();
        }
    }
}
