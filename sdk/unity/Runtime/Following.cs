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
        }

        private readonly ITransport transport;
        private readonly Action<DetailedCrossing> raise;
        private readonly Backoff backoff = new Backoff();
        private readonly object gate = new object();
        private Shared shared;
        /// <summary>Whether events raise the crossings of later calls.</summary>
        private bool isLive;
        /// <summary>While the stream begins, calls wait for it; null otherwise.</summary>
        private TaskCompletionSource<bool> entering;
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
        /// <param name="listen">Listens after this cursor.</param>
        /// <param name="cancellationToken">Ends the following.</param>
        public async Task FollowAsync(
            Func<CancellationToken, Task<string>> readEnd,
            Func<string, CancellationToken, Task> listen,
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
                bool isLast;
                lock (gate) isLast = --mine.Followers == 0;
                if (isLast) End(mine);
            }
        }

        private async void Run(
            Shared mine,
            Func<CancellationToken, Task<string>> readEnd,
            Func<string, CancellationToken, Task> listen)
        {
            try
            {
                await listen(await EnterAsync(readEnd, mine.Ending.Token), mine.Ending.Token);
                mine.Ended.TrySetResult(true);
            }
            catch (Exception error)
            {
                End(mine);
                mine.Ended.TrySetException(error);
                // All followers may have left.
                GC.KeepAlive(mine.Ended.Task.Exception);
            }
        }

        /// <summary>
        /// Crossings of earlier calls are raised by their answers, those of later calls by the events after this cursor.
        /// </summary>
        private async Task<string> EnterAsync(
            Func<CancellationToken, Task<string>> readEnd,
            CancellationToken cancellationToken)
        {
            for (var failed = 0; ; failed++)
            {
                Task<bool> waited = null;
                var mine = new TaskCompletionSource<bool>();
                lock (gate)
                {
                    entering = mine;
                    if (underWay > 0) waited = (idle = new TaskCompletionSource<bool>()).Task;
                }
                try
                {
                    if (waited != null) await waited.OrCancelledAsync(cancellationToken);
                    var cursor = await readEnd(cancellationToken);
                    lock (gate) isLive = true;
                    return cursor;
                }
                catch (TierwayException error)
                {
                    if (!error.Retryable) throw;
                }
                finally
                {
                    lock (gate) entering = null;
                    mine.TrySetResult(true);
                }
                await transport.DelayAsync(backoff.FullJitter(ShortestWait, LongestWait, failed), cancellationToken);
            }
        }

        /// <summary>The stream has ended: raises the crossings that were left to it.</summary>
        private void End(Shared mine)
        {
            var left = new List<DetailedCrossing>();
            lock (gate)
            {
                if (shared != mine) return;
                shared = null;
                isLive = false;
                isUnsure = false;
                left.AddRange(owed);
                owed.Clear();
                if (underWay == 0) seen.Clear();
            }
            mine.Ending.Cancel();
            foreach (var crossed in left) raise(crossed);
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
                if (entering != null) return entering.Task;
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
                if (isLive)
                {
                    owed.Add(crossed);
                    return;
                }
            }
            raise(crossed);
        }

        /// <summary>Takes a crossing of an event, and raises it.</summary>
        public void Heard(DetailedCrossing crossed)
        {
            lock (gate)
            {
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
