import { graphql } from '../../graphql.ts'

// Every action of support returns `result`: the player afterwards, the refusal and the entry of the audit log.

const actedFragment = graphql(`
  fragment ConsoleActed on PlayerPayload {
    error message
    auditEntry { id }
    player { id status }
  }
`)

const changedFragment = graphql(`
  fragment ConsoleChanged on ChangePayload {
    changed error message
    auditEntry { id }
    player { id status }
  }
`)

const movedFragment = graphql(`
  fragment ConsoleMoved on WalletPayload {
    balance nearest error message
    auditEntry { id }
    player { id status }
  }
`)

export const grantXpMutation = graphql(`
  mutation ConsoleGrantXp($input: GrantXpInput!) {
    result: grantXp(input: $input) {
      result { xp level leveledUp }
      error message
      auditEntry { id }
      player { id status }
    }
  }
`)

export const grantTierMutation = graphql(`
  mutation ConsoleGrantTier($input: GrantTierInput!) {
    result: grantTier(input: $input) {
      result { alreadyClaimed }
      error message
      auditEntry { id }
      player { id status }
    }
  }
`)

export const creditWalletMutation = graphql(
  `mutation ConsoleCreditWallet($input: CreditWalletInput!) { result: creditWallet(input: $input) { ...ConsoleMoved } }`,
  [movedFragment],
)

export const debitWalletMutation = graphql(
  `mutation ConsoleDebitWallet($input: DebitWalletInput!) { result: debitWallet(input: $input) { ...ConsoleMoved } }`,
  [movedFragment],
)

export const grantPlayerBoostMutation = graphql(`
  mutation ConsoleGrantPlayerBoost($input: GrantPlayerBoostInput!) {
    result: grantPlayerBoost(input: $input) {
      boost { endsAt }
      error message
      auditEntry { id }
      player { id status }
    }
  }
`)

export const endPlayerBoostMutation = graphql(
  `mutation ConsoleEndPlayerBoost($input: EndPlayerBoostInput!) { result: endPlayerBoost(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const grantPremiumMutation = graphql(
  `mutation ConsoleGrantPremium($input: GrantPremiumInput!) { result: grantPremium(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const revokePremiumMutation = graphql(
  `mutation ConsoleRevokePremium($input: RevokePremiumInput!) { result: revokePremium(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const resetTierMutation = graphql(
  `mutation ConsoleResetTier($input: ResetTierInput!) { result: resetTier(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const resetRewardMutation = graphql(
  `mutation ConsoleResetReward($input: ResetRewardInput!) { result: resetReward(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const resetPassMutation = graphql(
  `mutation ConsoleResetPass($input: ResetPassInput!) { result: resetPass(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const cancelRunMutation = graphql(
  `mutation ConsoleCancelRun($input: CancelRunInput!) { result: cancelRun(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const setPlayerStorageMutation = graphql(
  `mutation ConsoleSetPlayerStorage($input: SetPlayerStorageInput!) { result: setPlayerStorage(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const deletePlayerStorageMutation = graphql(
  `mutation ConsoleDeletePlayerStorage($input: DeletePlayerStorageInput!) { result: deletePlayerStorage(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const banPlayerMutation = graphql(
  `mutation ConsoleBanPlayer($input: BanPlayerInput!) { result: banPlayer(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const banPlayersMutation = graphql(`
  mutation ConsoleBanPlayers($input: BanPlayersInput!) {
    banPlayers(input: $input) { results { playerId error } }
  }
`)

export const unbanPlayerMutation = graphql(
  `mutation ConsoleUnbanPlayer($input: UnbanPlayerInput!) { result: unbanPlayer(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const endSessionsMutation = graphql(
  `mutation ConsoleEndSessions($input: EndSessionsInput!) { result: endSessions(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const unlinkIdentityMutation = graphql(
  `mutation ConsoleUnlinkIdentity($input: UnlinkIdentityInput!) { result: unlinkIdentity(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const deletePlayerMutation = graphql(
  `mutation ConsoleDeletePlayer($input: DeletePlayerInput!) { result: deletePlayer(input: $input) { ...ConsoleActed } }`,
  [actedFragment],
)

export const sendMessageMutation = graphql(`
  mutation ConsoleSendMessage($input: SendMessageInput!) {
    result: sendMessage(input: $input) {
      error message
      auditEntry { id }
      player { id status }
    }
  }
`)

export const cancelMessageMutation = graphql(
  `mutation ConsoleCancelMessage($input: CancelMessageInput!) { result: cancelMessage(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)

export const addPlayerNoteMutation = graphql(`
  mutation ConsoleAddPlayerNote($input: AddPlayerNoteInput!) {
    result: addPlayerNote(input: $input) {
      error message
      auditEntry { id }
      note { id }
      player { id status }
    }
  }
`)

export const deletePlayerNoteMutation = graphql(
  `mutation ConsoleDeletePlayerNote($input: DeletePlayerNoteInput!) { result: deletePlayerNote(input: $input) { ...ConsoleChanged } }`,
  [changedFragment],
)
