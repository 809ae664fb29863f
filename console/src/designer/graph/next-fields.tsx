import { CheckField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { DraftField, integerText } from '../draft/draft-field.tsx'
import { CONVERSIONS_HINT, conversionsText, readConversions } from '../model/conversions.ts'
import type { NodeModel } from '../model/definition.ts'
import { setValue } from '../model/edits.ts'
import { RawText, type Value } from '../text/json-edit.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'
import css from './graph.module.css'

/** What follows the season of a pass: `data.next`. */
export function NextFields({ draft, node }: { readonly draft: Draft; readonly node: NodeModel }) {
  const path: Path = ['nodes', node.index, 'data', 'next']
  const next = valueAt(node.data, 'next')
  const carry = valueAt(next, 'carry')
  const edit = (name: readonly string[], value: Value | undefined) =>
    draft.edit(setValue([...path, ...name], value), `next ${name.join()} ${node.index}`)
  const field = (name: string, text: string) => ({
    place: printPath([...path, ...name.split('.')]),
    value: text,
    onChange: (typed: string) => edit(name.split('.'), typed === '' ? undefined : typed),
  })
  const number = (name: string) => ({
    ...field(`carry.${name}`, numberTextOf(valueAt(carry, name)) ?? ''),
    fault: 'Enter a whole number.',
    inputMode: 'numeric' as const,
    normalise: (typed: string) => (typed.trim() === '' ? '' : integerText(typed)),
    onChange: (typed: string) => edit(['carry', name], typed === '' ? undefined : new RawText(typed)),
  })
  const trimmed = (typed: string) => typed.trim()
  const premium = valueAt(carry, 'premium')
  return (
    <>
      <h3>The next season</h3>
      <div className={css.pair}>
        <DraftField
          label="Scenario"
          hint="Players are started there once the season has ended. Empty: none."
          normalise={trimmed}
          {...field('scenarioId', stringOf(valueAt(next, 'scenarioId')) ?? '')}
        />
        <DraftField
          label="Pass"
          hint="Empty: the one with the id of this pass."
          normalise={trimmed}
          {...field('nodeId', stringOf(valueAt(next, 'nodeId')) ?? '')}
        />
      </div>
      <div className={css.pair}>
        <DraftField label="Percent of the xp to take along" hint="Empty: none." {...number('xpPercent')} />
        <DraftField label="Maximum xp" hint="Empty: no limit." {...number('xpMax')} />
      </div>
      <CheckField
        label="Owners of premium own it there, too"
        name="carryPremium"
        value={premium?.kind === 'boolean' && premium.raw === 'true'}
        onChange={(owns) => edit(['carry', 'premium'], owns || undefined)}
      />
      <DraftField
        label="Currencies that end with the season"
        hint={CONVERSIONS_HINT}
        fault="Write them as tickets to gold 1:10, stars."
        normalise={(typed) => (typed.trim() === '' ? '' : readConversions(typed) && typed.trim())}
        {...field('convert', conversionsText(valueAt(next, 'convert')))}
        onChange={(typed) => edit(['convert'], typed === '' ? undefined : readConversions(typed))}
      />
    </>
  )
}
