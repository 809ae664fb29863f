import type { FC } from 'react'
import { CheckField, SelectField } from '../../ui/form.tsx'
import { anyText, DraftField } from '../draft/draft-field.tsx'
import { TRACKS } from '../model/definition.ts'
import { setValue } from '../model/edits.ts'
import type { OwnField } from '../model/forms.ts'
import { NOTHING, REWARDS_HINT } from '../model/rewards.ts'
import { itemsOf, stringOf, valueAt } from '../text/json-tree.ts'
import { BeyondFields } from './beyond-fields.tsx'
import { DisplayFields } from './display-fields.tsx'
import { type DataProps, NumberField, pathOf, RewardsField } from './fields.tsx'
import css from './graph.module.css'
import { MailFields } from './mail-fields.tsx'
import { NextFields } from './next-fields.tsx'
import { XpFields } from './xp-fields.tsx'

// The fields of a node's data that are written for their member.

const counted = (count: number, unit: string): string => (count === 1 ? `1 ${unit}` : `${count} ${unit}s`)

function Counts({ node: { data } }: DataProps) {
  const levels = itemsOf(valueAt(data, 'levels')).length
  const tiers = itemsOf(valueAt(data, 'tiers')).length
  return (
    <p className="muted">
      {counted(levels, 'level')}, {counted(tiers, 'tier')}
    </p>
  )
}

function PremiumFields(props: DataProps) {
  const { draft, node } = props
  const price = valueAt(valueAt(node.data, 'premium'), 'price')
  return (
    <>
      <div className={css.pair}>
        <NumberField {...props} name="premium" field={PRICE} />
        <DraftField
          label="Currency"
          place={`nodes[${node.index}].data.premium.price.currency`}
          value={stringOf(valueAt(price, 'currency')) ?? ''}
          normalise={anyText}
          onChange={(text) =>
            draft.edit(setValue([...pathOf(node, 'premium'), 'price', 'currency'], text), `currency ${node.index}`)
          }
        />
      </div>
      <NumberField {...props} name="premium" field={XP_PERCENT} />
      <RewardsField {...props} name="premium" field={INSTANT} />
    </>
  )
}

const PRICE = { label: 'Price', isRequired: true, within: ['price', 'amount'] }
const XP_PERCENT = {
  label: 'Xp bonus of owners (percent)',
  hint: 'On top of each xp of clients and servers, rounded down. Empty: none.',
  within: ['xpPercent'],
}
const INSTANT = {
  label: 'Granted with the purchase',
  hint: `${REWARDS_HINT}. Empty: nothing.`,
  isOptional: true,
  within: ['instant'],
}

function Premium(props: DataProps) {
  const { draft, node } = props
  const isSold = valueAt(node.data, 'premium') !== undefined
  return (
    <>
      <CheckField
        label="Sell premium"
        name="premium"
        value={isSold}
        onChange={(sells) => {
          const premium = sells ? { price: { currency: 'gems', amount: 950n } } : undefined
          draft.edit(setValue(pathOf(node, 'premium'), premium))
        }}
      />
      {isSold && <PremiumFields {...props} />}
    </>
  )
}

const Mail = ({ draft, node }: DataProps) =>
  stringOf(valueAt(node.data, 'atEnd')) === 'mail' && <MailFields draft={draft} node={node} />

/** The pass of a level node. */
function PassOf({ draft, definition, node }: DataProps) {
  const passId = stringOf(valueAt(node.data, 'passNodeId')) ?? ''
  const passes = definition.nodes.filter(({ type }) => type === 'battle-pass').map(({ id }) => id)
  return (
    <SelectField
      label="Of the pass"
      name="passNodeId"
      value={passId}
      onChange={(id) => draft.edit(setValue(pathOf(node, 'passNodeId'), id))}
      options={[...new Set([passId, ...passes])].map((id) => [id, passes.includes(id) ? id : `${id} (missing)`])}
    />
  )
}

/** The rewards of a level node, which replace those of its pass. */
const TrackRewards = (props: DataProps) =>
  TRACKS.map((track) => (
    <RewardsField
      key={track}
      {...props}
      name="rewards"
      field={{
        label: `Rewards, ${track}`,
        hint: `${REWARDS_HINT}. Empty: as the pass lists them. “${NOTHING}”: a tier without rewards.`,
        isOptional: true,
        within: [track],
      }}
    />
  ))

export const OWN_FIELDS: Readonly<Record<OwnField['of'], FC<DataProps>>> = {
  counts: Counts,
  premium: Premium,
  mail: Mail,
  beyond: BeyondFields,
  next: NextFields,
  display: DisplayFields,
  xp: XpFields,
  pass: PassOf,
  tracks: TrackRewards,
}
