import { useState } from 'react'
import {
  MAX_IMAGE,
  MAX_LANGUAGES,
  MAX_MESSAGE_BODY,
  MAX_MESSAGE_DAYS,
  MAX_MESSAGE_TITLE,
} from '../../../src/base/limits.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, TextAreaField, TextField } from '../ui/form.tsx'
import { Panel } from '../ui/page.tsx'
import type { MessageFields, TextFields } from './message-fields.ts'

/** The third step: a message in the inbox, in several languages. */
export function MessagePanel(props: {
  readonly fields: MessageFields
  readonly onChange: (change: Partial<MessageFields>) => void
  /** Without a gift there must be a message. */
  readonly isRequired: boolean
  readonly hasRewards: boolean
}) {
  const { fields, onChange, isRequired, hasRewards } = props
  const { texts, image, days } = fields
  const [chosen, setChosen] = useState(0)
  const shown = texts.find(({ id }) => id === chosen) ?? texts[0]
  const set = (change: Partial<TextFields>) =>
    onChange({ texts: texts.map((one) => (one.id === shown?.id ? { ...one, ...change } : one)) })
  const add = () => {
    const id = Math.max(...texts.map((one) => one.id)) + 1
    onChange({ texts: [...texts, { id, language: '', title: '', body: '' }] })
    setChosen(id)
  }
  return (
    <Panel title="3. Message">
      {!isRequired && (
        <CheckField
          label="With a message in the inbox"
          name="isSent"
          hint={hasRewards ? 'The rewards then lie in the inbox, and the player claims them there.' : undefined}
          value={fields.isSent}
          onChange={(isSent) => onChange({ isSent })}
        />
      )}
      {(isRequired || fields.isSent) && shown && (
        <>
          {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame of its own */}
          <div className="actions" role="group" aria-label="Languages of the message">
            {texts.map(({ id, language }) => (
              <Button key={id} pressed={id === shown.id} onClick={() => setChosen(id)}>
                {language || 'new'}
              </Button>
            ))}
            {texts.length < MAX_LANGUAGES && <Button onClick={add}>Add a language</Button>}
          </div>
          <TextField
            label="Language"
            name="language"
            hint={
              shown === texts[0]
                ? 'A tag such as en or pt-BR. Players of every other language read this one.'
                : 'A tag such as en or pt-BR.'
            }
            value={shown.language}
            onChange={(language) => set({ language })}
            required
          />
          <TextField
            label="Title"
            name="title"
            value={shown.title}
            onChange={(title) => set({ title })}
            maxLength={MAX_MESSAGE_TITLE}
            required
          />
          <TextAreaField
            label="Text"
            name="body"
            value={shown.body}
            onChange={(body) => set({ body })}
            maxLength={MAX_MESSAGE_BODY}
            rows={4}
          />
          {texts.length > 1 && (
            <div className="actions">
              <Button onClick={() => onChange({ texts: texts.filter(({ id }) => id !== shown.id) })}>
                {`Remove ${shown.language || 'this language'}`}
              </Button>
            </div>
          )}
          <TextField
            label="Picture"
            name="image"
            hint="A URL, or a key of the game's own assets. Empty: none."
            value={image}
            onChange={(typed) => onChange({ image: typed })}
            maxLength={MAX_IMAGE}
          />
          <TextField
            label="Days until it expires"
            name="expiresInDays"
            hint={`1 to ${MAX_MESSAGE_DAYS}.${hasRewards ? ' What was not claimed by then is gone.' : ''}`}
            inputMode="numeric"
            value={days}
            onChange={(typed) => onChange({ days: typed })}
            required
          />
        </>
      )}
    </Panel>
  )
}
