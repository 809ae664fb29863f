using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>A crossing, with what else handlers receive of a level-up.</summary>
    internal sealed class DetailedCrossing
    {
        public DetailedCrossing(Crossing crossing, LevelUp levelUp)
        {
            Crossing = crossing;
            LevelUp = levelUp;
        }

        public Crossing Crossing { get; private set; }

        /// <summary>Null for other handles than that of a level-up.</summary>
        public LevelUp LevelUp { get; private set; }

        /// <summary>
        /// Level-ups of a pass differ in their xp. Other crossings of a handle are alike: as many are raised as there
        /// were.
        /// </summary>
        public bool IsLike(DetailedCrossing other)
        {
            return Crossing.NodeId == other.Crossing.NodeId
                && Crossing.Handle == other.Crossing.Handle
                && Xp == other.Xp;
        }

        private long? Xp
        {
            get { return LevelUp == null ? (long?)null : LevelUp.Xp; }
        }
    }

    /// <summary>
    /// Lets a session follow its run. A crossing of the session's own calls is in an answer and in an event. It is raised
    /// once: by the answer before the session follows, and by the event while it does, in order with those of other
    /// devices.
    /// </summary>
    internal sealed class Following
    {
        private static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(200);
        private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(5);

        /// <summary>A stream that followers share.</summary>
        private sealed class Shared
        {
            public readonly CancellationTokenSource Ending = new CancellationTokenSource();
            public readonly TaskCompletionSource<bool> Ended = new TaskCompletionSource<bool>();
            public int Followers;
            /// <summary>While the stream begins, calls wait for it; null otherwise.</summary>
            public TaskCompletionSource<bool> Entering;
            /// <summary>Whether its events raise the crossings of later calls.</summary>
            public bool IsLive;
        }

        private readonly ITransport transport;
        private readonly Action<DetailedCrossing> raise;
        private readonly Backoff backoff = new Backoff();
        private readonly object gate = new object();
        /// <summary>The stream of the present followers; null without any.</summary>
        private Shared shared;
        /// <summary>Completed when no call is under way; null when none waits for that.</summary>
        private TaskCompletionSource<bool> idle;
        private int underWay;
        /// <summary>The outcome of a call is unknown: its crossings may still be answered to a repetition.</summary>
        private bool isUnsure;
        /// <summary>Answered, but not raised: the event will raise it.</summary>
        private readonly List<DetailedCrossing> owed = new List<DetailedCrossing>();
        /// <summary>Raised by an event, while calls are under way whose answers may have it, too.</summary>
        private readonly List<DetailedCrossing> seen = new List<DetailedCrossing>();

        public Following(ITransport transport, Action<DetailedCrossing> raise)
        {
            this.transport = transport;
            this.raise = raise;
        }

        /// <summary>
        /// Follows until it is cancelled, or until the stream fails for good. All followers share one stream.
        /// </summary>
        /// <param name="readEnd">Reads the cursor after which events raise crossings.</param>
        /// <param name="listen">Listens after this cursor, and passes each crossing to the function.</param>
        /// <param name="cancellationToken">Ends the following.</param>
        public async Task FollowAsync(
            Func<CancellationToken, Task<string>> readEnd,
            Func<string, Action<DetailedCrossing>, CancellationToken, Task> listen,
            CancellationToken cancellationToken)
        {
            cancellationToken.ThrowIfCancellationRequested();
            Shared mine;
            bool isFirst;
            lock (gate)
            {
                isFirst = shared == null;
                if (isFirst) shared = new Shared();
                mine = shared;
                mine.Followers++;
            }
            if (isFirst) Run(mine, readEnd, listen);
            try
            {
                await mine.Ended.Task.OrCancelledAsync(cancellationToken);
            }
            catch (TierwayException error)
            {
                throw error.Again();
            }
            finally
            {
                End(mine, true);
            }
        }

        private async void Run(
            Shared mine,
            Func<CancellationToken, Task<string>> readEnd,
            Func<string, Action<DetailedCrossing>, CancellationToken, Task> listen)
        {
            try
            {
                var after = await EnterAsync(mine, readEnd);
                await listen(after, crossed => Heard(mine, crossed), mine.Ending.Token);
                mine.Ended.TrySetResult(true);
            }
            catch (Exception error)
            {
                End(mine, false);
                mine.Ended.TrySetException(error);
                // All followers may have left.
                GC.KeepAlive(mine.Ended.Task.Exception);
            }
        }

        /// <summary>
        /// Crossings of earlier calls are raised by their answers, those of later calls by the events after this cursor.
        /// </summary>
        private async Task<string> EnterAsync(Shared mine, Func<CancellationToken, Task<string>> readEnd)
        {
            var ending = mine.Ending.Token;
            for (var failed = 0; ; failed++)
            {
                Task<bool> waited = null;
                var entering = new TaskCompletionSource<bool>();
                lock (gate)
                {
                    ending.ThrowIfCancellationRequested();
                    mine.Entering = entering;
                    if (underWay > 0) waited = (idle = idle ?? new TaskCompletionSource<bool>()).Task;
                }
                try
                {
                    if (waited != null) await waited.OrCancelledAsync(ending);
                    var cursor = await readEnd(ending);
                    lock (gate) mine.IsLive = true;
                    return cursor;
                }
                catch (TierwayException error)
                {
                    if (!error.Retryable) throw;
                }
                finally
                {
                    lock (gate) mine.Entering = null;
                    entering.TrySetResult(true);
                }
                await transport.DelayAsync(backoff.FullJitter(ShortestWait, LongestWait, failed), ending);
            }
        }

        /// <summary>
        /// One follower leaves, or the stream has failed. With the last follower the stream ends, and the crossings that
        /// were left to it are raised.
        /// </summary>
        private void End(Shared mine, bool isLeaving)
        {
            DetailedCrossing[] left;
            lock (gate)
            {
                if (isLeaving && --mine.Followers > 0) return;
                if (shared != mine) return;
                shared = null;
                isUnsure = false;
                left = owed.ToArray();
                owed.Clear();
                if (underWay == 0) seen.Clear();
            }
            foreach (var crossed in left) raise(crossed);
            mine.Ending.Cancel();
        }

        /// <summary>Makes a call, and takes in its answer, once the stream allows it.</summary>
        public async Task<T> DuringAsync<T>(Func<Task<T>> call, CancellationToken cancellationToken)
        {
            for (var before = Enter(); before != null; before = Enter())
                await before.OrCancelledAsync(cancellationToken);
            var isKnown = false;
            try
            {
                var answer = await call();
                isKnown = true;
                return answer;
            }
            catch (TierwayException error)
            {
                isKnown = !error.IsOutcomeUnknown;
                throw;
            }
            catch (ArgumentException)
            {
                // Nothing was sent.
                isKnown = true;
                throw;
            }
            finally
            {
                // A call that was cancelled may have arrived, too.
                Leave(isKnown);
            }
        }

        /// <summary>Counts a call as under way; or returns what it has to wait for before.</summary>
        private Task<bool> Enter()
        {
            lock (gate)
            {
                if (shared != null && shared.Entering != null) return shared.Entering.Task;
                underWay++;
                return null;
            }
        }

        private void Leave(bool isKnown)
        {
            TaskCompletionSource<bool> waiting = null;
            lock (gate)
            {
                underWay--;
                if (!isKnown) isUnsure = true;
                if (underWay > 0) return;
                if (!isUnsure) seen.Clear();
                waiting = idle;
                idle = null;
            }
            if (waiting != null) waiting.TrySetResult(true);
        }

        /// <summary>Takes a crossing of an answer, and raises it unless an event has raised it or will.</summary>
        public void Answered(DetailedCrossing crossed)
        {
            lock (gate)
            {
                if (Remove(seen, crossed)) return;
                if (shared != null && shared.IsLive)
                {
                    owed.Add(crossed);
                    return;
                }
            }
            raise(crossed);
        }

        /// <summary>Takes a crossing of an event, and raises it, unless its stream has ended meanwhile.</summary>
        private void Heard(Shared mine, DetailedCrossing crossed)
        {
            lock (gate)
            {
                if (shared != mine) return;
                if (!Remove(owed, crossed) && (underWay > 0 || isUnsure)) seen.Add(crossed);
            }
            raise(crossed);
        }

        private static bool Remove(List<DetailedCrossing> all, DetailedCrossing crossed)
        {
            var at = all.FindIndex(crossed.IsLike);
            if (at >= 0) all.RemoveAt(at);
            return at >= 0;
        }
    }
}
