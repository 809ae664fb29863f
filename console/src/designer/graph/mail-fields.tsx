import { Button } from '../../ui/button.tsx'
import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField, integerText, someText } from '../draft/draft-field.tsx'
import type { NodeModel } from '../model/definition.ts'
import { setValue } from '../model/edits.ts'
import { RawText, type Value } from '../text/json-edit.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'

/** The message with tiers that were earned and not claimed, by language. */
export function MailFields({ draft, node }: { readonly draft: Draft; readonly node: NodeModel }) {
  const path: Path = ['nodes', node.index, 'data', 'mail']
  const mail = valueAt(node.data, 'mail')
  const texts = valueAt(mail, 'text')
  const languages = texts?.kind === 'object' ? texts.items.map(({ name }) => name) : []
  const edit = (name: readonly string[], value: Value | undefined) =>
    draft.edit(setValue([...path, ...name], value), `mail ${name.join()} ${node.index}`)
  const add = () => {
    const tag = ['en', 'de', 'es', 'fr', 'ja', 'pt-BR', 'zh-Hans'].find((one) => !languages.includes(one)) ?? 'x-other'
    edit(['text', tag], { title: 'Your rewards' })
  }
  return (
    <>
      <DraftField
        label="Days until the message expires"
        hint="Empty: 30."
        place={printPath([...path, 'days'])}
        fault="Enter a whole number."
        inputMode="numeric"
        value={numberTextOf(valueAt(mail, 'days')) ?? ''}
        normalise={(typed) => (typed.trim() === '' ? '' : integerText(typed))}
        onChange={(text) => edit(['days'], text === '' ? undefined : new RawText(text))}
      />
      <DraftField
        label="Picture of the message"
        hint="A URL, or a key of the game's own assets. Empty: none."
        place={printPath([...path, 'image'])}
        value={stringOf(valueAt(mail, 'image')) ?? ''}
        normalise={(typed) => typed.trim()}
        onChange={(image) => edit(['image'], image === '' ? undefined : image)}
      />
      {languages.map((tag) => {
        const text = valueAt(texts, tag)
        return (
          <div key={tag}>
            <DraftField
              label={`Title in ${tag}`}
              place={printPath([...path, 'text', tag, 'title'])}
              value={stringOf(valueAt(text, 'title')) ?? ''}
              fault="Enter a title."
              normalise={someText}
              onChange={(title) => edit(['text', tag, 'title'], title)}
            />
            <DraftField
              label={`Text in ${tag}`}
              hint="Below the title. Empty: none."
              place={printPath([...path, 'text', tag, 'body'])}
              value={stringOf(valueAt(text, 'body')) ?? ''}
              normalise={anyText}
              onChange={(body) => edit(['text', tag, 'body'], body === '' ? undefined : body)}
            />
            <Button tone="quiet" onClick={() => edit(languages.length === 1 ? ['text'] : ['text', tag], undefined)}>
              {`Remove ${tag}`}
            </Button>
          </div>
        )
      })}
      <div className="actions">
        <Button onClick={add}>Add a language to the message</Button>
      </div>
      <p className="muted">
        Without a text the game shows words of its own. The tag of a language is changed in the JSON.
      </p>
    </>
  )
}
