import { graphql } from '../../graphql.ts'

// Every action of support returns `result`: the player afterwards, the refusal and the entry of the audit log.

export const creditWalletMutation = graphql(`
  mutation ConsoleCreditWallet($input: CreditWalletInput!) {
    result: creditWallet(input: $input) {
      balance
      nearest
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const debitWalletMutation = graphql(`
  mutation ConsoleDebitWallet($input: DebitWalletInput!) {
    result: debitWallet(input: $input) {
      balance
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const grantXpMutation = graphql(`
  mutation ConsoleGrantXp($input: GrantXpInput!) {
    result: grantXp(input: $input) {
      result {
        xp
        level
        leveledUp
      }
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const grantTierMutation = graphql(`
  mutation ConsoleGrantTier($input: GrantTierInput!) {
    result: grantTier(input: $input) {
      result {
        alreadyClaimed
      }
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const grantPremiumMutation = graphql(`
  mutation ConsoleGrantPremium($input: GrantPremiumInput!) {
    result: grantPremium(input: $input) {
      changed
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const revokePremiumMutation = graphql(`
  mutation ConsoleRevokePremium($input: RevokePremiumInput!) {
    result: revokePremium(input: $input) {
      changed
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const resetTierMutation = graphql(`
  mutation ConsoleResetTier($input: ResetTierInput!) {
    result: resetTier(input: $input) {
      changed
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const resetRewardMutation = graphql(`
  mutation ConsoleResetReward($input: ResetRewardInput!) {
    result: resetReward(input: $input) {
      changed
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const resetPassMutation = graphql(`
  mutation ConsoleResetPass($input: ResetPassInput!) {
    result: resetPass(input: $input) {
      changed
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const cancelRunMutation = graphql(`
  mutation ConsoleCancelRun($input: CancelRunInput!) {
    result: cancelRun(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const setPlayerStorageMutation = graphql(`
  mutation ConsoleSetPlayerStorage($input: SetPlayerStorageInput!) {
    result: setPlayerStorage(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const deletePlayerStorageMutation = graphql(`
  mutation ConsoleDeletePlayerStorage($input: DeletePlayerStorageInput!) {
    result: deletePlayerStorage(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const banPlayerMutation = graphql(`
  mutation ConsoleBanPlayer($input: BanPlayerInput!) {
    result: banPlayer(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const unbanPlayerMutation = graphql(`
  mutation ConsoleUnbanPlayer($input: UnbanPlayerInput!) {
    result: unbanPlayer(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const endSessionsMutation = graphql(`
  mutation ConsoleEndSessions($input: EndSessionsInput!) {
    result: endSessions(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const unlinkIdentityMutation = graphql(`
  mutation ConsoleUnlinkIdentity($input: UnlinkIdentityInput!) {
    result: unlinkIdentity(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)

export const deletePlayerMutation = graphql(`
  mutation ConsoleDeletePlayer($input: DeletePlayerInput!) {
    result: deletePlayer(input: $input) {
      error
      message
      auditEntry {
        id
      }
      player {
        id
        status
      }
    }
  }
`)
