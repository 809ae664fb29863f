import { useState } from 'react'
import { isLanguageTag } from '../../../../src/base/languages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { DraftField } from '../draft/draft-field.tsx'
import type { NodeModel } from '../model/definition.ts'
import { setValue } from '../model/edits.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { stringOf, valueAt } from '../text/json-tree.ts'
import css from './graph.module.css'

/** What games show of a pass: `data.text` by language, and `data.image`. */
export function DisplayFields({ draft, node }: { readonly draft: Draft; readonly node: NodeModel }) {
  const [added, setAdded] = useState('')
  const path: Path = ['nodes', node.index, 'data']
  const text = valueAt(node.data, 'text')
  const tags = text?.kind === 'object' ? [...new Set(text.items.map(({ name }) => name))] : []
  const field = (own: Path, value: string) => ({
    place: printPath(own),
    value,
    normalise: (typed: string) => typed.trim(),
    onChange: (typed: string) =>
      draft.edit(setValue(own, typed === '' ? undefined : typed), `display ${node.index} ${own.join()}`),
  })
  const isNew = isLanguageTag(added) && !tags.some((tag) => tag.toLowerCase() === added.toLowerCase())
  return (
    <>
      <h3>What players see</h3>
      <DraftField
        label="Picture"
        hint="A URL, or a key of the game's own assets. Empty: none."
        {...field([...path, 'image'], stringOf(valueAt(node.data, 'image')) ?? '')}
      />
      {tags.map((tag) => {
        const wording = valueAt(text, tag)
        const own = [...path, 'text', tag]
        return (
          <div key={tag} className={css.pair}>
            <DraftField label={`Name, ${tag}`} {...field([...own, 'name'], stringOf(valueAt(wording, 'name')) ?? '')} />
            <DraftField
              label={`Description, ${tag}`}
              {...field([...own, 'description'], stringOf(valueAt(wording, 'description')) ?? '')}
            />
            <Button
              tone="quiet"
              label={`Remove ${tag}`}
              onClick={() => draft.edit(setValue(tags.length > 1 ? own : [...path, 'text'], undefined))}
            >
              Remove {tag}
            </Button>
          </div>
        )
      })}
      <div className={css.pair}>
        <TextField label="New language" name="language" value={added} onChange={setAdded} placeholder="Such as pt-BR" />
        <div className="actions">
          <Button
            disabled={!isNew}
            label="Add the language"
            onClick={() => {
              draft.edit(setValue([...path, 'text', added], { name: node.id }))
              setAdded('')
            }}
          >
            Add
          </Button>
        </div>
      </div>
    </>
  )
}
