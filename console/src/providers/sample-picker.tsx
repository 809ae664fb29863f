import { useState } from 'react'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { toast } from '../ui/toast.tsx'
import { readSamples, type Sample, withSample, writeSamples } from './samples.ts'

/** Samples of `customData` that this browser keeps: choosing one fills it in, a name keeps the text as a sample. */
export function SamplePicker(props: {
  readonly provider: string
  readonly text: string
  readonly onChoose: (text: string) => void
}) {
  const { provider, text, onChoose } = props
  const environment = useEnvironment()
  const [samples, setSamples] = useState(() => readSamples(localStorage, environment, provider))
  const [chosen, setChosen] = useState('')
  const [name, setName] = useState('')

  function keep(next: readonly Sample[]): void {
    if (writeSamples(localStorage, environment, provider, next)) setSamples(next)
    else toast('This browser has no room for the sample. Nothing was kept.', 'error')
  }
  return (
    <details className="more-filters" open={samples.length > 0}>
      <summary>Samples of this browser</summary>
      <div className="filters">
        {samples.length > 0 && (
          <>
            <SelectField
              label="Sample"
              name="sample"
              value={chosen}
              onChange={(value) => {
                setChosen(value)
                const sample = samples.find((one) => one.name === value)
                if (sample) onChoose(sample.text)
              }}
              options={[['', 'none'], ...samples.map((one) => [one.name, one.name] as const)]}
            />
            {chosen !== '' && (
              <Button
                onClick={() => {
                  keep(samples.filter((one) => one.name !== chosen))
                  setChosen('')
                }}
              >
                Forget {chosen}
              </Button>
            )}
          </>
        )}
        <TextField
          label="Keep as a sample in this browser"
          name="sampleName"
          placeholder="a new player"
          value={name}
          onChange={setName}
          maxLength={64}
          autoComplete="off"
        />
        <Button
          disabled={name.trim() === ''}
          onClick={() => {
            keep(withSample(samples, { name: name.trim(), text }))
            setChosen(name.trim())
            setName('')
          }}
        >
          Keep
        </Button>
      </div>
      <p className="hint">They stay here until you forget them. Keep no credentials of real players.</p>
    </details>
  )
}
