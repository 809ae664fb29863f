using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class FollowTests
    {
        private const int Steps = 60;

        /// <summary>Two devices of one player in a run, and what the first one raises.</summary>
        private sealed class Devices
        {
            public readonly List<string> Heard = new List<string>();
            public readonly List<string> Sources = new List<string>();
            public TierwayClient Client;
            public string Player;
            public ScenarioSession Here;
            public ScenarioSession There;

            public static async Task<Devices> StartAsync()
            {
                var devices = new Devices { Client = new TierwayClient(Program.Options()), Player = Program.NewName() };
                await devices.Client.LoginAsync(new LoginRequest { CustomData = Program.CustomData(devices.Player) });
                devices.Here = await devices.Client.Scenario("long").StartAsync();
                devices.There = await devices.Client.Scenario("long").StartAsync();
                devices.Here.BattlePass("pass").LevelUp += up =>
                {
                    devices.Heard.Add("level " + up.ToLevel);
                    devices.Sources.Add(up.Source);
                };
                devices.Here.Crossed += crossing =>
                {
                    if (crossing.Handle != Handles.LevelUp) devices.Heard.Add(crossing.NodeId + " " + crossing.Handle);
                };
                return devices;
            }

            public Task PlayHereAsync()
            {
                return Here.BattlePass("pass").AddXpAsync(10, "here");
            }

            public Task PlayThereAsync()
            {
                return There.BattlePass("pass").AddXpAsync(10, "there");
            }

            public Task UntilAsync(int count)
            {
                return Check.UntilAsync(() => Heard.Count >= count, count + " are heard");
            }
        }

        private static IEnumerable<string> LevelsTo(int last)
        {
            return Enumerable.Range(2, last - 1).Select(level => "level " + level);
        }

        private static Task EndAsync(CancellationTokenSource following, Task stream)
        {
            following.Cancel();
            return Check.ThrowsAsync<OperationCanceledException>(() => stream, "the following is ended");
        }

        public static async Task FollowAsync()
        {
            var devices = await Devices.StartAsync();
            await devices.PlayHereAsync();
            using (var first = new CancellationTokenSource())
            using (var second = new CancellationTokenSource())
            {
                var one = devices.Here.FollowAsync(first.Token);
                var two = devices.Here.FollowAsync(second.Token);
                await devices.PlayHereAsync();
                await devices.PlayThereAsync();
                await devices.UntilAsync(3);
                Check.Equal(4, (await devices.Here.BattlePass("pass").ProgressAsync()).Level, "the level");
                await EndAsync(first, one);
                await devices.PlayThereAsync();
                await devices.UntilAsync(4);
                await EndAsync(second, two);
            }
            await devices.PlayHereAsync();
            Check.Sequence(LevelsTo(6), devices.Heard, "each once, in order, until both have ended");

            // A repeated call has the crossings of the first one.
            var key = Guid.NewGuid().ToString();
            await devices.Here.BattlePass("pass").AddXpAsync(10, idempotencyKey: key);
            await devices.Here.BattlePass("pass").AddXpAsync(10, idempotencyKey: key);
            using (var third = new CancellationTokenSource())
            {
                var stream = devices.Here.FollowAsync(third.Token);
                await devices.Here.BattlePass("pass").AddXpAsync(10, idempotencyKey: key);
                await devices.PlayThereAsync();
                await devices.UntilAsync(7);
                await EndAsync(third, stream);
            }
            Check.Sequence(LevelsTo(8), devices.Heard, "a repetition raises nothing");
        }

        /// <summary>Followers come and go during calls.</summary>
        public static async Task ToggledAsync()
        {
            var devices = await Devices.StartAsync();
            var isOver = false;
            var random = new Random(1);
            var toggling = new[] { 4, 15, 150 }.Select(async longest =>
            {
                while (!isOver)
                {
                    using (var following = new CancellationTokenSource())
                    {
                        var stream = devices.Here.FollowAsync(following.Token);
                        await Task.Delay(random.Next(longest));
                        await EndAsync(following, stream);
                    }
                    await Task.Delay(random.Next(longest));
                }
            }).ToArray();
            Func<Func<Task>, Task> repeat = async play =>
            {
                for (var step = 1; step < Steps; step++) await play();
            };
            await Task.WhenAll(repeat(devices.PlayHereAsync), repeat(() => devices.Here.CrossAsync("shop", "onClick")));
            isOver = true;
            await Task.WhenAll(toggling);
            Check.Equal(Steps - 1, devices.Sources.Count(one => one == "here"), "each level of this device once");
            Check.Equal(devices.Heard.Count, devices.Heard.Count(one => one == "shop onClick") + devices.Sources.Count, "no other");
            Check.Equal(devices.Sources.Count, devices.Heard.Where(one => one.StartsWith("level ")).Distinct().Count(), "none twice");
            Check.Equal(Steps - 1, devices.Heard.Count(one => one == "shop onClick"), "each click once");
        }

        public static async Task ClaimsAsync()
        {
            foreach (var isFollowed in new[] { false, true })
            {
                var devices = await Devices.StartAsync();
                await devices.Here.BattlePass("pass").AddXpAsync(40);
                devices.Heard.Clear();
                using (var following = new CancellationTokenSource())
                {
                    var stream = isFollowed ? devices.Here.FollowAsync(following.Token) : null;
                    await Task.WhenAll(new[] { 2, 3, 4 }.Select(level => devices.Here.Level("level-" + level).ClaimAsync(Track.Free)));
                    if (isFollowed) await EndAsync(following, stream);
                }
                await devices.UntilAsync(3);
                Check.Sequence(
                    new[] { "level-2 onComplete", "level-3 onComplete", "level-4 onComplete" },
                    devices.Heard.OrderBy(one => one),
                    "several claims at once complete a node each");
            }
        }

        /// <summary>The scenario changes, so that the run is cancelled.</summary>
        public static async Task CancelledAsync()
        {
            var client = await Program.NewPlayerAsync();
            await Program.AskAsync("publish old");
            var here = await client.Scenario("fleeting").StartAsync();
            var ended = new List<string>();
            here.Ended += status => ended.Add(status);
            using (var following = new CancellationTokenSource())
            {
                var stream = here.FollowAsync(following.Token);
                // A call waits until the stream has begun.
                await here.DuringAsync(() => Task.FromResult(true), CancellationToken.None);
                await Program.AskAsync("publish new");
                Check.True((await client.Scenario("fleeting").StartAsync()).RunId != here.RunId, "another run");
                await Check.UntilAsync(() => ended.Count > 0, "the end is heard");
                await EndAsync(following, stream);
            }
            await here.RefreshAsync();
            Check.Sequence(new[] { RunStatus.Cancelled }, ended, "once");
            Check.Equal(RunStatus.Cancelled, here.Status, "the status");
        }

        public static async Task EndedAsync()
        {
            var devices = await Devices.StartAsync();
            var streams = new[] { devices.Here.FollowAsync(), devices.Here.FollowAsync() };
            await devices.PlayHereAsync();
            await devices.Client.LogoutAsync();
            await Program.AskAsync("cut");
            foreach (var stream in streams)
            {
                var error = await Check.ThrowsAsync<TierwayException>(() => stream, "the login has ended");
                Check.Equal(ErrorCodes.NotSignedIn, error.Code, "why");
            }
            await devices.Client.LoginAsync(new LoginRequest { CustomData = Program.CustomData(devices.Player) });
            using (var following = new CancellationTokenSource())
            {
                var stream = devices.Here.FollowAsync(following.Token);
                await devices.PlayHereAsync();
                await devices.UntilAsync(2);
                await EndAsync(following, stream);
            }
            Check.Sequence(LevelsTo(3), devices.Heard, "it can begin again");
            var last = devices.Here.FollowAsync();
            devices.Client.Dispose();
            await Check.ThrowsAsync<OperationCanceledException>(() => last, "it ends with the client");
        }

        /// <summary>Sessions of a player while another one is logged in.</summary>
        public static async Task FormerAsync()
        {
            var client = new TierwayClient(Program.Options());
            var player = new LoginRequest { CustomData = Program.CustomData(Program.NewName()) };
            var signedIn = new List<string>();
            client.SignedIn += playerId => signedIn.Add(playerId);
            await client.LoginAsync(player);
            var started = (await client.Scenario("long").StartAsync()).BattlePass("pass");
            var opened = client.Scenario("long").Open(started.Session.RunId).BattlePass("pass");
            var first = client.PlayerId;
            Check.Equal((await client.PlayerAsync()).PlayerId, first, "who is logged in");
            await client.LoginAsync(new LoginRequest { CustomData = Program.CustomData(Program.NewName()) });
            Check.Sequence(new[] { first, client.PlayerId }, signedIn, "each login is told");
            Check.True(first != client.PlayerId, "another player");
            using (var outbox = new Outbox(client, new MemoryTextStorage()))
            {
                foreach (var pass in new[] { started, opened })
                foreach (var call in new Func<Task>[]
                {
                    () => pass.ProgressAsync(),
                    () => pass.SeasonAsync(),
                    () => pass.AddXpAsync(5),
                    () => pass.ClaimAsync(1, Track.Free),
                    () => pass.ClaimAllAsync(),
                    () => pass.BuyPremiumAsync(),
                    () => pass.Session.RefreshAsync(),
                    () => pass.Session.CrossAsync("shop", "onClick"),
                    () => pass.Session.FollowAsync(),
                    () => outbox.AddXpAsync(pass, 5),
                })
                {
                    var error = await Check.ThrowsAsync<TierwayException>(call, "a call for another player");
                    Check.Equal(ErrorCodes.NotSignedIn, error.Code, "why");
                }
                await client.LoginAsync(player);
                Check.Equal(5L, (await started.AddXpAsync(5)).Xp, "the first player again");
                await outbox.AddXpAsync(opened, 5);
                await outbox.FlushAsync();
                Check.Equal(10L, (await opened.ProgressAsync()).Xp, "an opened session");
            }
            await opened.Session.RefreshAsync();
            Check.True(opened.Session.Active.Any(node => node.NodeId == "pass"), "what it knows after a read");
            await client.LogoutAsync();
            Check.True(client.PlayerId == null, "nobody");
        }
    }
}
