import { useEffect } from 'react'
import { useQuery } from 'urql'
import { MAX_REWARDS } from '../../../src/base/limits.ts'
import { definitionQuery, scenariosQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/form.tsx'
import { Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { GIFT_KINDS, type GiftFields, type GiftKind, NO_REWARD, type RewardFields } from './gift.ts'
import css from './grants.module.css'
import { assetsQuery } from './operations.ts'

interface WhatProps {
  readonly gift: GiftFields
  readonly onChange: (change: Partial<GiftFields>) => void
  readonly allowNew: boolean
  readonly onAllowNew: (isAllowed: boolean) => void
  /** The list of players has the amounts. */
  readonly hasAmounts: boolean
}

/** The second step: what each player gets. */
export function WhatPanel({ gift, onChange, allowNew, onAllowNew, hasAmounts }: WhatProps) {
  const { kind, rewards } = gift
  return (
    <Panel title="2. What">
      <SelectField
        label="Each player gets"
        name="kind"
        value={kind}
        onChange={(chosen) => onChange({ kind: chosen as GiftKind })}
        options={GIFT_KINDS}
      />
      {hasAmounts && (kind === 'rewards' || kind === 'xp') && (
        <p className="muted">The file has the amount for each player.</p>
      )}
      {kind === 'rewards' && (
        <Rewards rewards={rewards} onChange={(changed) => onChange({ rewards: changed })} hasAmounts={hasAmounts} />
      )}
      {(kind === 'xp' || kind === 'levels' || kind === 'premium') && <PassFields gift={gift} onChange={onChange} />}
      {kind === 'xp' && !hasAmounts && (
        <Amount label="Xp" name="xp" value={gift.xp} onChange={(xp) => onChange({ xp })} />
      )}
      {kind === 'levels' && (
        <Amount label="Levels" name="levels" value={gift.levels} onChange={(levels) => onChange({ levels })} />
      )}
      {kind === 'rewards' && rewards.some((one) => one.kind === 'currency') && (
        <CheckField
          label="Give it even if no scenario names the currency"
          name="allowNew"
          value={allowNew}
          onChange={onAllowNew}
        />
      )}
    </Panel>
  )
}

const Amount = (props: {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly onChange: (text: string) => void
}) => <TextField inputMode="numeric" pattern="[1-9][0-9]*" autoComplete="off" required {...props} />

const ASSETS = [
  ['currency', 'currency'],
  ['itemId', 'item'],
  ['boost', 'boost of xp'],
] as const

function Rewards(props: {
  readonly rewards: readonly RewardFields[]
  readonly onChange: (rewards: readonly RewardFields[]) => void
  readonly hasAmounts: boolean
}) {
  const { rewards, onChange, hasAmounts } = props
  const environment = useEnvironment()
  const [{ data }] = useQuery({ query: assetsQuery, variables: { environment } })
  const known = {
    currency: data?.currencies.nodes.map(({ name }) => name),
    itemId: data?.items.nodes.map(({ itemId }) => itemId),
  }
  const set = (id: number, change: Partial<RewardFields>) =>
    onChange(rewards.map((one) => (one.id === id ? { ...one, ...change } : one)))
  return (
    <>
      {rewards.map(({ id, kind, name, amount, percent, minutes }, index) => (
        <div key={id} className={css.reward}>
          <SelectField
            label="Kind"
            value={kind}
            onChange={(chosen) => set(id, { kind: chosen as RewardFields['kind'] })}
            options={ASSETS}
          />
          {kind === 'boost' ? (
            <>
              <Amount
                label="Percent more xp"
                name={`rewards-${index}-boost.percent`}
                value={percent}
                onChange={(typed) => set(id, { percent: typed })}
              />
              <Amount
                label="Minutes"
                name={`rewards-${index}-boost.minutes`}
                value={minutes}
                onChange={(typed) => set(id, { minutes: typed })}
              />
            </>
          ) : (
            <TextField
              label={kind === 'currency' ? 'Currency' : 'Item'}
              name={`rewards-${index}-${kind}`}
              suggestions={known[kind]}
              value={name}
              onChange={(typed) => set(id, { name: typed })}
              autoComplete="off"
              required
            />
          )}
          {!hasAmounts && kind !== 'boost' && (
            <Amount
              label="Amount"
              name={`rewards-${index}-amount`}
              value={amount}
              onChange={(typed) => set(id, { amount: typed })}
            />
          )}
          {rewards.length > 1 && (
            <Button
              label={`Remove ${name || 'this reward'}`}
              onClick={() => onChange(rewards.filter((one) => one.id !== id))}
            >
              Remove
            </Button>
          )}
        </div>
      ))}
      {!hasAmounts && rewards.length < MAX_REWARDS && (
        <div className="actions">
          <Button
            onClick={() => onChange([...rewards, { ...NO_REWARD, id: Math.max(...rewards.map(({ id }) => id)) + 1 }])}
          >
            Add another
          </Button>
        </div>
      )}
    </>
  )
}

/** The scenario and its battle pass. A scenario with one pass needs no choice. */
function PassFields({ gift, onChange }: Pick<WhatProps, 'gift' | 'onChange'>) {
  const environment = useEnvironment()
  const { kind, scenarioId, nodeId } = gift
  const scenarios = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
  })
  const [{ data }] = useQuery({ query: definitionQuery, variables: { environment, scenarioId }, pause: !scenarioId })
  const ids = scenarios.rows.map((one) => one.scenarioId)
  const passes = scenarioId ? readDefinition(data?.scenario?.definition).passes : []
  const sold = kind === 'premium' ? passes.filter(({ price }) => price !== null) : passes
  const only = sold.length === 1 ? sold[0]?.id : undefined
  const first = ids.length === 1 ? ids[0] : undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: the only choice is chosen once it is known
  useEffect(() => {
    if (scenarioId === '' && first) onChange({ scenarioId: first, nodeId: '' })
    else if (only && nodeId !== only) onChange({ nodeId: only })
  }, [only, first, nodeId, scenarioId])
  return (
    <>
      <SelectField
        label="Scenario"
        name="scenarioId"
        hint={
          kind === 'premium' ? undefined : 'Players without an active run of it get nothing, and are listed as failed.'
        }
        value={scenarioId}
        onChange={(chosen) => onChange({ scenarioId: chosen, nodeId: '' })}
        options={[['', 'choose'], ...ids]}
      />
      {data && sold.length === 0 && (
        <p className="fault">
          {scenarioId} has no battle pass{kind === 'premium' && ' that sells premium'}.
        </p>
      )}
      {sold.length > 1 && (
        <SelectField
          label="Battle pass"
          name="nodeId"
          value={nodeId}
          onChange={(chosen) => onChange({ nodeId: chosen })}
          options={[['', 'choose'], ...sold.map(({ id }) => id)]}
        />
      )}
    </>
  )
}
