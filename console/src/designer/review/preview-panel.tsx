import { Figures, Panel } from '../../ui/page.tsx'
import { Failed, Loading, Notice } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { number, words } from '../../ui/words.ts'
import { previewSentences } from './preview-words.ts'
import css from './review.module.css'
import type { Preview, PreviewState } from './use-preview.ts'

export const PreviewPanel = ({ of }: { of: PreviewState }) => (
  <Panel title="Effect on players">
    <PreviewBody of={of} />
  </Panel>
)

export function PreviewBody({ of: { preview, error, isLoading, retry } }: { of: PreviewState }) {
  if (error) return <Failed error={error} onRetry={retry} />
  if (isLoading) return <Loading what="Counting players" />
  if (!preview) return null
  if (!preview.valid) return <Notice tone="error">The draft has faults, so its effect cannot be counted.</Notice>
  return (
    <>
      <PreviewSentences of={preview} none="No player’s level, tiers or price would change at once." />
      {preview.passes.map((pass) => (
        <PassTables key={pass.nodeId} pass={pass} />
      ))}
    </>
  )
}

/** The effect on players in sentences. `none` says that there is none. */
export function PreviewSentences({ of, none }: { of: Preview; none: string }) {
  const sentences = previewSentences(of)
  if (sentences.length === 0) return <p>{none}</p>
  return (
    <ul className={css.sentences}>
      {sentences.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}

function PassTables({ pass }: { pass: Preview['passes'][number] }) {
  const moved = pass.levels.filter(({ before, after }) => before !== after)
  const claimable = pass.newlyClaimable.flatMap(({ track, tiers }) => tiers.map((tier) => ({ track, ...tier })))
  const rows = [...moved.map(({ level }) => level), ...claimable.map(({ level }) => level)]
  return (
    <>
      <h3>{pass.nodeId}</h3>
      <Figures
        of={[
          ['Players', number(pass.players)],
          ['Own premium', number(pass.premiumOwners)],
          ['Level up', number(pass.levelGained)],
          ['Level down', number(pass.levelLost)],
        ]}
      />
      {rows.length > 0 && (
        <div className="columns">
          {moved.length > 0 && (
            <Table
              caption={`Players at each level of ${pass.nodeId} that changes`}
              columns={[
                { title: 'Level', cell: ({ level }) => level, isNumber: true },
                { title: 'Players now', cell: ({ before }) => number(before), isNumber: true },
                { title: 'Afterwards', cell: ({ after }) => number(after), isNumber: true },
              ]}
              rows={moved}
              keyOf={({ level }) => String(level)}
            />
          )}
          {claimable.length > 0 && (
            <Table
              caption={`Tiers of ${pass.nodeId} that become claimable`}
              columns={[
                { title: 'Tier', cell: ({ level, track }) => `Level ${level}, ${words(track)}` },
                { title: 'Players who could claim it', cell: ({ players }) => number(players), isNumber: true },
              ]}
              rows={claimable}
              keyOf={({ level, track }) => `${level} ${track}`}
            />
          )}
        </div>
      )}
      {pass.removedClaims.length > 0 && (
        <Table
          caption={`Claims of removed tiers of ${pass.nodeId}`}
          columns={[
            { title: 'Removed tier', cell: ({ level, track }) => `Level ${level}, ${words(track)}` },
            { title: 'Players who have claimed it', cell: ({ players }) => number(players), isNumber: true },
          ]}
          rows={pass.removedClaims}
          keyOf={({ level, track }) => `${level} ${track}`}
        />
      )}
    </>
  )
}
