import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField, integerText } from '../draft/draft-field.tsx'
import { type Definition, type NodeModel, rewardsOf, TRACKS } from '../model/definition.ts'
import { furtherMembers, inTurn, setValue } from '../model/edits.ts'
import { setRewards } from '../model/node-rewards.ts'
import { NOTHING, REWARDS_HINT, readRewards, rewardsText } from '../model/rewards.ts'
import { RawText, type Value } from '../text/json-edit.ts'
import type { Path } from '../text/json-path.ts'
import { itemsOf, type JsonNode, memberOf, numberTextOf, parseJson, stringOf, valueAt } from '../text/json-tree.ts'
import { BeyondFields } from './beyond-fields.tsx'
import { DisplayFields } from './display-fields.tsx'
import css from './graph.module.css'
import { MailFields } from './mail-fields.tsx'
import { momentText, momentValue } from './moments.ts'
import { NextFields } from './next-fields.tsx'
import { XpFields } from './xp-fields.tsx'

interface DataProps {
  readonly draft: Draft
  readonly definition: Definition
  readonly node: NodeModel
}

/** The fields of a node's data by its type. Members that no field shows stay untouched. */
export function DataFields({
  onOpenTable,
  onOpenJson,
  ...props
}: DataProps & { readonly onOpenTable: (passId: string) => void; readonly onOpenJson: (path: string) => void }) {
  const { node } = props
  switch (node.type) {
    case 'battle-pass':
      return (
        <>
          <PassFields {...props} />
          <XpFields draft={props.draft} node={node} onOpenJson={onOpenJson} />
          <div className="actions">
            <Button onClick={() => onOpenTable(node.id)}>Edit levels and tiers</Button>
          </div>
          <Further {...props} shown={PASS_MEMBERS} onOpenJson={onOpenJson} />
        </>
      )
    case 'battle-pass-level':
      return (
        <>
          <LevelFields {...props} />
          <Further {...props} shown={['levelNumber', 'passNodeId', 'rewards']} onOpenJson={onOpenJson} />
        </>
      )
    case 'reward':
      return (
        <>
          <RewardFields {...props} />
          <Further {...props} shown={['rewards', 'repeat']} onOpenJson={onOpenJson} />
        </>
      )
    default:
      return <ClientFields {...props} onOpenJson={onOpenJson} />
  }
}

const PASS_MEMBERS = [
  ...['levels', 'tiers', 'premium', 'xp'],
  ...['announcedAt', 'startsAt', 'endingHours', 'endsAt', 'claimUntil'],
  ...['atEnd', 'mail', 'autoClaim', 'next', 'beyond', 'text', 'image'],
]
const AT_ENDS = [
  ['', 'lost'],
  ['grant', 'granted'],
  ['mail', 'mailed to the inbox'],
] as const
const DATES = [
  ['announcedAt', 'Announced', 'The season is announced from then on, before it starts. Empty: it is not.'],
  ['startsAt', 'Starts', 'Xp, claims and premium are open from then on. Empty: always open.'],
  ['endsAt', 'Ends', 'The first moment without xp and premium. Empty: never.'],
  ['claimUntil', 'Claims until', 'The first moment without claims. Empty: the end.'],
] as const

/** The message goes when the tiers are no longer mailed. */
const setAtEnd = (path: Path, atEnd: string) => {
  const set = setValue([...path, 'atEnd'], atEnd === '' ? undefined : atEnd)
  return atEnd === 'mail' ? set : inTurn(set, setValue([...path, 'mail'], undefined))
}

function PassFields({ draft, node }: DataProps) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data']
  const isSold = valueAt(data, 'premium') !== undefined
  const levels = itemsOf(valueAt(data, 'levels')).length
  const tiers = itemsOf(valueAt(data, 'tiers')).length
  return (
    <>
      <p className="muted">
        {levels === 1 ? '1 level' : `${levels} levels`}, {tiers === 1 ? '1 tier' : `${tiers} tiers`}
      </p>
      <CheckField
        label="Sell premium"
        name="premium"
        value={isSold}
        onChange={(sells) =>
          draft.edit(setValue([...path, 'premium'], sells ? { price: { currency: 'gems', amount: 950n } } : undefined))
        }
      />
      {isSold && <PremiumFields draft={draft} node={node} />}
      {DATES.map(([name, label, hint]) => (
        <MomentField
          key={name}
          label={label}
          hint={hint}
          place={`nodes[${index}].data.${name}`}
          text={timeText(valueAt(data, name))}
          onChange={(text) => draft.edit(setValue([...path, name], timeOf(text)), `${name} ${index}`)}
        />
      ))}
      <DraftField
        label="Hours in which it is about to end"
        hint="Before the end. Empty: none."
        place={`nodes[${index}].data.endingHours`}
        fault="Enter a whole number."
        inputMode="numeric"
        value={numberTextOf(valueAt(data, 'endingHours')) ?? ''}
        normalise={(typed) => (typed.trim() === '' ? '' : integerText(typed))}
        onChange={(text) =>
          draft.edit(setValue([...path, 'endingHours'], text === '' ? undefined : new RawText(text)), `ending ${index}`)
        }
      />
      <CheckField
        label="Claim tiers as players reach them"
        name="autoClaim"
        value={stringOf(valueAt(data, 'autoClaim')) === 'always'}
        onChange={(claims) => draft.edit(setValue([...path, 'autoClaim'], claims ? 'always' : undefined))}
      />
      <SelectField
        label="Earned tiers that were not claimed"
        name="atEnd"
        hint="Once claims have closed."
        value={AT_ENDS.find(([value]) => value === stringOf(valueAt(data, 'atEnd')))?.[0] ?? ''}
        onChange={(atEnd) => draft.edit(setAtEnd(path, atEnd))}
        options={AT_ENDS}
      />
      {stringOf(valueAt(data, 'atEnd')) === 'mail' && <MailFields draft={draft} node={node} />}
      <BeyondFields draft={draft} node={node} />
      <NextFields draft={draft} node={node} />
      <DisplayFields draft={draft} node={node} />
    </>
  )
}

function PremiumFields({ draft, node }: Pick<DataProps, 'draft' | 'node'>) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data', 'premium']
  const premium = valueAt(data, 'premium')
  const price = valueAt(premium, 'price')
  return (
    <>
      <div className={css.pair}>
        <DraftField
          label="Price"
          place={`nodes[${index}].data.premium.price.amount`}
          fault="Enter a whole number."
          inputMode="numeric"
          value={numberTextOf(valueAt(price, 'amount')) ?? ''}
          normalise={integerText}
          onChange={(text) => draft.edit(setValue([...path, 'price', 'amount'], new RawText(text)), `price ${index}`)}
        />
        <DraftField
          label="Currency"
          place={`nodes[${index}].data.premium.price.currency`}
          value={stringOf(valueAt(price, 'currency')) ?? ''}
          normalise={anyText}
          onChange={(text) => draft.edit(setValue([...path, 'price', 'currency'], text), `currency ${index}`)}
        />
      </div>
      <DraftField
        label="Xp bonus of owners (percent)"
        hint="On top of each xp of clients and servers, rounded down. Empty: none."
        place={`nodes[${index}].data.premium.xpPercent`}
        fault="Enter a whole number."
        inputMode="numeric"
        value={numberTextOf(valueAt(premium, 'xpPercent')) ?? ''}
        normalise={(typed) => (typed.trim() === '' ? '' : integerText(typed))}
        onChange={(text) =>
          draft.edit(setValue([...path, 'xpPercent'], text === '' ? undefined : new RawText(text)), `bonus ${index}`)
        }
      />
      <RewardsField
        label="Granted with the purchase"
        hint={`${REWARDS_HINT}. Empty: nothing.`}
        draft={draft}
        path={[...path, 'instant']}
        list={valueAt(premium, 'instant')}
        isOptional
      />
    </>
  )
}

const stringAt = (value: JsonNode | undefined, name: string): string => stringOf(valueAt(value, name)) ?? ''

/** A moment as text: with its offset, or a local time and its zone, such as `2027-03-28T02:30 Europe/Berlin`. */
const timeText = (value: JsonNode | undefined): string =>
  value?.kind === 'object' ? `${stringAt(value, 'at')} ${stringAt(value, 'timeZone')}`.trim() : (stringOf(value) ?? '')

/** The value of such a text; undefined for an empty one. */
function timeOf(text: string): Value | undefined {
  const [, at, timeZone] = /^(\S+)\s+(\S+)$/.exec(text.trim()) ?? []
  if (at !== undefined && timeZone !== undefined) return { at, timeZone }
  return text === '' ? undefined : text
}

/** A moment in UTC. Any other text is shown as it is. */
function MomentField(props: {
  readonly label: string
  readonly hint: string
  readonly place: string
  readonly text: string
  readonly onChange: (text: string) => void
}) {
  const { label, hint, place, text, onChange } = props
  const value = momentValue(text)
  return (
    <DraftField
      label={value === undefined ? `${label} (UTC)` : label}
      hint={hint}
      place={place}
      isMoment={value !== undefined}
      step={1}
      value={value ?? text}
      normalise={(typed) => typed}
      onChange={(typed) => onChange(value === undefined ? typed : momentText(typed))}
    />
  )
}

function LevelFields({ draft, definition, node }: DataProps) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data']
  const level = valueAt(data, 'levelNumber')
  const passId = stringOf(valueAt(data, 'passNodeId')) ?? ''
  const passes = definition.nodes.filter(({ type }) => type === 'battle-pass').map(({ id }) => id)
  return (
    <>
      <DraftField
        label="Level"
        place={`nodes[${index}].data.levelNumber`}
        fault="Enter a whole number."
        inputMode="numeric"
        value={numberTextOf(level) ?? stringOf(level) ?? ''}
        normalise={integerText}
        onChange={(text) =>
          draft.edit(
            setValue([...path, 'levelNumber'], level?.kind === 'string' ? text : new RawText(text)),
            `level ${index}`,
          )
        }
      />
      <SelectField
        label="Of the pass"
        name="passNodeId"
        value={passId}
        onChange={(id) => draft.edit(setValue([...path, 'passNodeId'], id))}
        options={[...new Set([passId, ...passes])].map((id) => [id, passes.includes(id) ? id : `${id} (missing)`])}
      />
      {TRACKS.map((track) => (
        <RewardsField
          key={track}
          label={`Rewards, ${track}`}
          hint={`${REWARDS_HINT}. Empty: as the pass lists them. “${NOTHING}”: a tier without rewards.`}
          draft={draft}
          path={[...path, 'rewards', track]}
          list={valueAt(valueAt(data, 'rewards'), track)}
          isOptional
        />
      ))}
    </>
  )
}

const REPEATS = [
  ['', 'depending on how it is reached'],
  ['never', 'once per player'],
  ['run', 'once in each run'],
  ['always', 'each time'],
] as const

function RewardFields({ draft, node }: DataProps) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data']
  return (
    <>
      <RewardsField
        label="Rewards"
        hint={`${REWARDS_HINT}.`}
        draft={draft}
        path={[...path, 'rewards']}
        list={valueAt(data, 'rewards')}
      />
      <SelectField
        label="Pays a player"
        name="repeat"
        hint="The check below shows which rule applies."
        value={stringOf(valueAt(data, 'repeat')) ?? ''}
        onChange={(repeat) => draft.edit(setValue([...path, 'repeat'], repeat === '' ? undefined : repeat))}
        options={REPEATS}
      />
    </>
  )
}

function RewardsField(props: {
  readonly label: string
  readonly hint: string
  readonly draft: Draft
  readonly path: Path
  readonly list: JsonNode | undefined
  readonly isOptional?: boolean
}) {
  const { label, hint, draft, path, list, isOptional } = props
  return (
    <DraftField
      label={label}
      hint={hint}
      fault="Write rewards as 50 gold, 1 item:sword."
      value={list ? rewardsText(rewardsOf(list)) : ''}
      normalise={(text) => {
        if (text.trim() === '') return isOptional ? '' : undefined
        const rewards = readRewards(text)
        return rewards && rewardsText(rewards)
      }}
      onChange={(text) =>
        draft.edit(
          setRewards(path, text.trim() === '' ? undefined : (readRewards(text) ?? [])),
          `rewards ${path.join()}`,
        )
      }
    />
  )
}

/** The data of a node that the game client runs: any members. Plain values have a field each. */
function ClientFields({ draft, node, onOpenJson }: DataProps & { readonly onOpenJson: (path: string) => void }) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data']
  const [name, setName] = useState('')
  return (
    <>
      <h3>Data for the game client</h3>
      {furtherMembers(node, []).map((member) => (
        <ClientField
          key={member}
          draft={draft}
          path={[...path, member]}
          name={member}
          value={memberOf(data, member)?.value}
          onOpenJson={() => onOpenJson(`nodes[${index}].data.${member}`)}
        />
      ))}
      <div className={css.pair}>
        <TextField label="New member" name="member" value={name} onChange={setName} placeholder="Such as title" />
        <div className="actions">
          <Button
            disabled={name === '' || memberOf(data, name) !== undefined}
            onClick={() => {
              draft.edit(setValue([...path, name], ''))
              setName('')
            }}
          >
            Add
          </Button>
        </div>
      </div>
    </>
  )
}

function ClientField(props: {
  readonly draft: Draft
  readonly path: Path
  readonly name: string
  readonly value: JsonNode | undefined
  readonly onOpenJson: () => void
}) {
  const { draft, path, name, value, onOpenJson } = props
  const kind = `data ${path.join()}`
  if (value?.kind === 'string')
    return (
      <DraftField
        label={name}
        value={stringOf(value) ?? ''}
        normalise={anyText}
        onChange={(text) => draft.edit(setValue(path, text), kind)}
      />
    )
  if (value?.kind === 'number')
    return (
      <DraftField
        label={name}
        fault="Enter a number."
        value={value.raw}
        normalise={(text) => (parseJson(text).root?.kind === 'number' ? text.trim() : undefined)}
        onChange={(text) => draft.edit(setValue(path, new RawText(text.trim())), kind)}
      />
    )
  if (value?.kind === 'boolean')
    return (
      <CheckField
        label={name}
        name={name}
        value={value.raw === 'true'}
        onChange={(isTrue) => draft.edit(setValue(path, isTrue))}
      />
    )
  return (
    <div className="field">
      <span>
        <strong>{name}</strong>{' '}
        <span className="muted">
          {value?.kind === 'array' || value?.kind === 'object' ? `${value.items.length} entries` : 'null'}
        </span>{' '}
        <Button tone="quiet" label={`Edit ${name} in JSON`} onClick={onOpenJson}>
          Edit in JSON
        </Button>
      </span>
    </div>
  )
}

/** Members that no field shows, which the game client receives as they are. */
function Further({
  node,
  shown,
  onOpenJson,
}: DataProps & { readonly shown: readonly string[]; readonly onOpenJson: (path: string) => void }) {
  const names = furtherMembers(node, shown)
  if (names.length === 0) return null
  return (
    <p>
      <span className="muted">Also in its data: </span>
      {names.map((name) => (
        <Button
          key={name}
          tone="quiet"
          label={`Edit ${name} in JSON`}
          onClick={() => onOpenJson(`nodes[${node.index}].data.${name}`)}
        >
          {name}
        </Button>
      ))}
    </p>
  )
}
