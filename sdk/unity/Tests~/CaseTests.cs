using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    /// <summary>
    /// Makes the calls of a file of cases, and prints each answer in the form that the cases have for every surface.
    /// </summary>
    internal static class CaseTests
    {
        private static TierwayClient client;
        private static ScenarioSession session;

        public static async Task RunAsync()
        {
            client = new TierwayClient(Program.Options());
            foreach (var one in Json.Parse(File.ReadAllText(Program.Setting("TIERWAY_CASES"))).Items)
            {
                var reply = new JsonWriter().BeginObject();
                try
                {
                    var answer = await CallAsync(one["call"].AsString(), one["input"]);
                    reply.Name("ok").Raw(answer.ToString());
                }
                catch (TierwayException error)
                {
                    reply.Name("code").Value(error.Code.ToUpperInvariant());
                    var faults = error.Details.Select(fault => fault.Path.Split('.').Last()).OrderBy(name => name, StringComparer.Ordinal);
                    if (error.Details.Count > 0) Texts(reply, "faults", faults);
                }
                Program.Say("reply " + reply.EndObject());
            }
        }

        private static async Task<JsonWriter> CallAsync(string call, JsonValue input)
        {
            var answer = new JsonWriter();
            switch (call)
            {
                case "login":
                    await client.LoginAsync(new LoginRequest { CustomData = input });
                    return answer.Null();
                case "start":
                    session = await client.Scenario(Text(input, "scenarioId") ?? "cases").StartAsync();
                    answer.BeginObject().Name("runId").Value("runId").Name("resumed").Value(session.Resumed);
                    return Plan(answer, session.Plan).EndObject();
                case "next":
                    var next = await client.Scenario(Text(input, "scenarioId") ?? "cases").StartAsync();
                    return next.NextScenarioId == null ? answer.Null() : answer.Value(next.NextScenarioId);
                case "run":
                    await session.RefreshAsync();
                    answer.BeginObject().Name("status").Value(session.Status);
                    var active = session.Active.Select(node => node.NodeId).OrderBy(id => id, StringComparer.Ordinal);
                    return Texts(answer, "active", active).EndObject();
                case "progress":
                    var progress = await Pass(input).ProgressAsync();
                    answer.BeginObject().Name("level").Value(progress.Level).Name("xp").Value(progress.Xp.ToString());
                    answer.Name("premiumOwned").Value(progress.PremiumOwned);
                    return Texts(answer, "claimedTiers", progress.ClaimedTiers.Select(one => Tier(one.Level, one.Track))).EndObject();
                case "season":
                    var season = await Pass(input).SeasonAsync();
                    answer.BeginObject().Name("phase").Value(season.Phase.ToString().ToLowerInvariant()).Name("next");
                    if (season.NextPhase == null) answer.Null();
                    else answer.Value(season.NextPhase.ToString().ToLowerInvariant());
                    return Texts(answer, "boosts", season.Boosts.Select(one => string.Join(" ", one.Percent, one.EndsAt.Year, one.Audience.ToString().ToLowerInvariant(), string.Join("+", one.Sources)))).EndObject();
                case "seasons":
                    answer.BeginArray();
                    foreach (var one in await client.SeasonsAsync())
                        answer.Value(string.Join(" ", one.NodeId, one.Phase.ToString().ToLowerInvariant(), one.Level + "/" + one.TopLevel, one.Xp, one.PremiumOwned ? "premium" : "free", one.Claimed));
                    return answer.EndArray();
                case "inbox":
                    var inbox = await client.Inbox.ListAsync();
                    Texts(answer.BeginObject(), "messages", inbox.Messages.Select(one => one.Title));
                    return answer.Name("unread").Value(inbox.Unread).Name("unclaimed").Value(inbox.Unclaimed).EndObject();
                case "claimMessage":
                    var message = await client.Inbox.ClaimAsync(Text(input, "messageId"));
                    answer.BeginObject().Name("success").Value(message.Success).Name("error").Value(message.Error);
                    return Texts(answer, "granted", Rewards(message.Granted)).EndObject();
                case "claimAllMessages":
                    var messages = await client.Inbox.ClaimAllAsync();
                    Texts(answer.BeginObject(), "claimed", messages.Claimed.Select(one => one.MessageId));
                    return answer.Name("remaining").Value(messages.Remaining).EndObject();
                case "readMessages":
                    return answer.BeginObject().Name("unread").Value(await client.Inbox.ReadAsync(Texts(input["messageIds"]))).EndObject();
                case "addXp":
                    var added = await Pass(input).AddXpAsync(input["amount"].AsInt64(), Text(input, "source"), Text(input, "idempotencyKey"));
                    answer.BeginObject().Name("level").Value(added.Level).Name("xp").Value(added.Xp.ToString());
                    answer.Name("leveledUp").Value(added.LeveledUp).Name("maxLevel").Value(added.MaxLevel);
                    return Plan(answer, added.Plan).EndObject();
                case "claim":
                    var word = Text(input, "track");
                    var track = word == "premium" ? Track.Premium : word == "bonus" ? Track.Bonus : Track.Free;
                    var claim = input["level"] == null
                        ? await session.Level(Text(input, "nodeId")).ClaimAsync(track)
                        : await Pass(input).ClaimAsync(input["level"].AsInt32(), track);
                    answer.BeginObject().Name("success").Value(claim.Success).Name("alreadyClaimed").Value(claim.AlreadyClaimed);
                    answer.Name("error").Value(claim.Error);
                    return Texts(answer, "granted", Rewards(claim.Granted)).EndObject();
                case "claimAll":
                    var all = await Pass(input).ClaimAllAsync();
                    var claimed = all.Claimed.Select(one => Tier(one.Level, one.Track) + ": " + string.Join(",", Rewards(one.Granted)));
                    return Texts(answer.BeginObject(), "claimed", claimed).EndObject();
                case "premium":
                    var bought = await Pass(input).BuyPremiumAsync(Text(input, "idempotencyKey"));
                    answer.BeginObject().Name("success").Value(bought.Success).Name("error").Value(bought.Error);
                    return Plan(answer, bought.Plan).EndObject();
                case "cross":
                    var plan = await session.CrossAsync(Text(input, "nodeId"), Text(input, "handle"));
                    return Plan(answer.BeginObject(), plan).EndObject();
                case "player":
                    var player = await client.PlayerAsync();
                    Texts(answer.BeginObject(), "wallet", player.Wallet.Select(one => one.Amount + " " + one.Currency));
                    return Texts(answer, "inventory", player.Inventory.Select(one => one.Amount + " item " + one.ItemId)).EndObject();
                case "getStorage":
                    answer.BeginObject();
                    foreach (var value in await client.Storage.GetAsync(Texts(input["keys"]))) answer.Name(value.Key).Value(value.Value);
                    return answer.EndObject();
                case "listStorage":
                    var page = await client.Storage.ListAsync(first: input["first"].AsInt32());
                    answer.BeginObject().Name("keys").BeginArray();
                    foreach (var one in page.Keys) answer.BeginObject().Name("key").Value(one.Key).Name("bytes").Value(one.Bytes).EndObject();
                    return answer.EndArray().Name("next").Value(page.Next).EndObject();
                case "setStorage":
                    await client.Storage.SetAsync(input["values"].Members.ToDictionary(one => one.Key, one => one.Value.AsString()));
                    return answer.Null();
                case "deleteStorage":
                    await client.Storage.DeleteAsync(Texts(input["keys"]));
                    return answer.Null();
                default:
                    throw new ArgumentException("no call " + call);
            }
        }

        private static BattlePass Pass(JsonValue input)
        {
            return session.BattlePass(Text(input, "nodeId"));
        }

        private static string Text(JsonValue input, string name)
        {
            return input[name] == null ? null : input[name].AsString();
        }

        private static IEnumerable<string> Texts(JsonValue list)
        {
            return list.Items.Select(one => one.AsString());
        }

        private static JsonWriter Texts(JsonWriter answer, string name, IEnumerable<string> texts)
        {
            answer.Name(name).BeginArray();
            foreach (var text in texts) answer.Value(text);
            return answer.EndArray();
        }

        private static string Tier(int level, Track track)
        {
            return level + " " + track.ToString().ToLowerInvariant();
        }

        private static IEnumerable<string> Rewards(IEnumerable<Reward> rewards)
        {
            return rewards.Select(one => one.Amount + " " + (one.ItemId == null ? one.Currency : "item " + one.ItemId));
        }

        private static JsonWriter Plan(JsonWriter answer, ExecutionPlan plan)
        {
            answer.Name("plan");
            if (plan == null) return answer.Null();
            answer.BeginObject().Name("runId").Value("runId").Name("status").Value(plan.Status);
            Texts(answer, "crossed", plan.Crossed.Select(one => one.NodeId + " " + one.Handle));
            // Passes have long data.
            Texts(answer, "entered", plan.Entered.Select(one => one.NodeId + " " + one.Type + (one.Type == "shop" ? " " + one.Data : "")));
            return Texts(answer, "granted", Rewards(plan.Granted)).EndObject();
        }
    }
}
