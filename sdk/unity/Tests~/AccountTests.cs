using System;
using System.Linq;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class AccountTests
    {
        /// <summary>
        /// A guest links an account of Google that another player has, switches to that player, ends its lost device, takes
        /// its data along and asks for its deletion.
        /// </summary>
        public static async Task AccountAsync()
        {
            var name = Program.NewName();
            var login = new IdTokenRequest { IdToken = Program.Setting("GOOGLE_TOKEN"), DeviceName = "Lost phone" };
            var lost = new TierwayClient(Program.Options());
            await lost.LoginGoogleAsync(login);
            var owner = await lost.PlayerAsync();

            var client = new TierwayClient(Program.Options());
            await client.LoginGuestAsync();
            var guest = await client.PlayerAsync();
            var error = await Check.ThrowsAsync<TierwayException>(() => client.LinkGoogleAsync(login), "an identity of another player");
            Check.Equal(ErrorCodes.IdentityAlreadyLinked, error.Code, "an identity of another player");
            var conflict = error.Facts.Member("conflict");
            await client.SwitchAsync(conflict.Member("ticket").AsString(), "New phone");
            Check.Equal(owner.PlayerId, (await client.PlayerAsync()).PlayerId, "the other player");
            Check.True(owner.PlayerId != guest.PlayerId, "it is another one");

            await client.Account.UpdateAsync(nickname: "Ada");
            Check.Equal("Ada", (await client.PlayerAsync()).Nickname, "the new nickname");
            await client.LinkAsync(new LinkRequest { CustomData = Program.CustomData(name) });
            await client.Account.UnlinkAsync("custom", name);
            var identities = await client.Account.IdentitiesAsync();
            Check.Equal("google unity of google", identities.Single().Provider + " " + identities.Single().Subject, "its identities");
            Check.True(Math.Abs((DateTimeOffset.UtcNow - identities[0].CreatedAt).TotalMinutes) < 5, "when it was linked");
            error = await Check.ThrowsAsync<TierwayException>(() => client.Account.UnlinkAsync("google", "unity of google"), "the last one");
            Check.Equal(ErrorCodes.LastIdentity, error.Code, "the last one");

            var sessions = await client.Account.SessionsAsync();
            Check.Sequence(
                new[] { "New phone True", "Lost phone False" },
                sessions.Select(session => session.Device + " " + session.IsCurrent),
                "its sessions");
            Check.True(await client.Account.EndSessionAsync(sessions[1].SessionId), "the session of the lost phone");
            Check.True(!await client.Account.EndSessionAsync(sessions[1].SessionId), "it had ended");
            Check.Equal(0, await client.Account.EndOtherSessionsAsync(), "others");

            var lines = (await client.Account.ExportAsync()).Split('\n').Select(Json.Parse).ToList();
            var profile = lines.Single(line => line.Member("kind").AsString() == "profile");
            Check.Equal("Ada " + owner.PlayerId, profile.Member("nickname").AsString() + " " + profile.Member("id").AsString(), "its data");

            var deleteAt = await client.Account.DeleteAsync();
            Check.True(Math.Abs((deleteAt - DateTimeOffset.UtcNow).TotalDays - 14) < 0.1, "when it is deleted");
            Check.True(!client.IsSignedIn, "it is logged out");
            await client.LoginGoogleAsync(login);
            Check.Equal(owner.PlayerId, (await client.PlayerAsync()).PlayerId, "a login cancels it");
            Check.Equal(1, await client.Account.EndAllSessionsAsync(), "all sessions");
            Check.True(!client.IsSignedIn, "it is logged out by that, too");
        }
    }
}
