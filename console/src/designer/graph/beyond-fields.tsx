import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField, integerText } from '../draft/draft-field.tsx'
import { type NodeModel, rewardsOf } from '../model/definition.ts'
import { setValue } from '../model/edits.ts'
import { setRewards } from '../model/node-rewards.ts'
import { REWARDS_HINT, readRewards, rewardsText } from '../model/rewards.ts'
import { RawText, type Value } from '../text/json-edit.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'
import css from './graph.module.css'

/** What xp above the top level of a pass brings: `data.beyond`. */
export function BeyondFields({ draft, node }: { readonly draft: Draft; readonly node: NodeModel }) {
  const path: Path = ['nodes', node.index, 'data', 'beyond']
  const beyond = valueAt(node.data, 'beyond')
  const convert = valueAt(beyond, 'convert')
  const rewards = valueAt(beyond, 'rewards')
  const field = (...name: readonly string[]) => ({
    place: printPath([...path, ...name]),
    onChange: (typed: string) => edit(name, typed === '' ? undefined : typed),
  })
  /** With the last member of an object goes the object. */
  const gone = (name: readonly string[]): readonly string[] => {
    const parent = name.slice(0, -1).reduce(valueAt, beyond)
    const isLast = name.length > 0 && parent?.kind === 'object' && parent.items.length === 1
    return isLast ? gone(name.slice(0, -1)) : name
  }
  const edit = (name: readonly string[], value: Value | undefined) =>
    draft.edit(
      setValue([...path, ...(value === undefined ? gone(name) : name)], value),
      `beyond ${name.join()} ${node.index}`,
    )
  const number = (...name: readonly string[]) => ({
    ...field(...name),
    value: numberTextOf(name.reduce(valueAt, beyond)) ?? '',
    fault: 'Enter a whole number.',
    inputMode: 'numeric' as const,
    normalise: (typed: string) => (typed.trim() === '' ? '' : integerText(typed)),
    onChange: (typed: string) => edit(name, typed === '' ? undefined : new RawText(typed)),
  })
  return (
    <>
      <h3>Above the top level</h3>
      <p className="muted">Either bonus tiers, or xp that becomes a currency.</p>
      <div className={css.pair}>
        <DraftField label="Xp for each bonus tier" hint="Empty: no bonus tiers." {...number('every')} />
        <DraftField
          label="Rewards of each bonus tier"
          hint={`${REWARDS_HINT}.`}
          fault="Write rewards as 50 gold, 1 item:sword."
          {...field('rewards')}
          value={rewards ? rewardsText(rewardsOf(rewards)) : ''}
          normalise={(typed) => {
            if (typed.trim() === '') return ''
            const read = readRewards(typed)
            return read && rewardsText(read)
          }}
          onChange={(typed) =>
            typed === ''
              ? edit(['rewards'], undefined)
              : draft.edit(setRewards([...path, 'rewards'], readRewards(typed) ?? []), `beyond rewards ${node.index}`)
          }
        />
      </div>
      <div className={css.pair}>
        <DraftField label="Bonus tiers in all" hint="Empty: 1,000." {...number('max')} />
        <DraftField label="Bonus tiers on a day" hint="Empty: no limit." {...number('perDay')} />
      </div>
      <div className={css.pair}>
        <DraftField label="Xp for one of a currency" hint="Empty: no currency." {...number('convert', 'per')} />
        <DraftField
          label="Currency for xp"
          hint="What xp above the top level becomes."
          {...field('convert', 'currency')}
          value={stringOf(valueAt(convert, 'currency')) ?? ''}
          normalise={anyText}
        />
      </div>
    </>
  )
}
