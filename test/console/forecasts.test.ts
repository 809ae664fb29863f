import { describe, expect, it } from 'vitest'
import { grantXpAction } from '../../console/src/players/actions/pass-actions.ts'
import { creditAction } from '../../console/src/players/actions/wallet-actions.ts'

const MAX = '9223372036854775807'
type Player = Parameters<typeof creditAction>[0]

describe('the forecast of a credit', () => {
  const player = { wallet: [{ currency: 'gems', balance: '9223372036854775000' }] } as unknown as Player
  const effect = (values: Record<string, string>) =>
    creditAction(player, [{ name: 'gems', creditLimit: null }], null).effect?.(values)

  it('is of the currency that is sent, without blanks around its name', () => {
    expect(effect({ currency: ' gems ', amount: '5' })).toMatch(
      /^gems: 9,223,372,036,854,775,000 → 9,223,372,036,854,775,005\./,
    )
    expect(effect({ currency: ' gems', amount: '5' })).not.toMatch(/check its spelling/)
  })

  it('says that a balance beyond the largest is refused', () => {
    expect(effect({ currency: 'gems', amount: '807' })).toMatch(/→ 9,223,372,036,854,775,807/)
    expect(effect({ currency: 'gems', amount: '808' })).toMatch(/this will be refused\.$/)
  })
})

it('the forecast of xp says that xp beyond the largest is refused', () => {
  const pass = { scenarioId: 's', nodeId: 'pass', xp: MAX, premiumOwned: false, claims: [] }
  const action = grantXpAction(pass as unknown as Parameters<typeof grantXpAction>[0])
  expect(action.effect?.({ amount: '1', source: '' })).toMatch(/this will be refused\.$/)
})
