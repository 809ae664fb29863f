import { useState } from 'react'
import { useClient } from 'urql'
import { isProduction } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { type Fault, faultsOf } from '../ui/errors.ts'
import { CheckField, TextAreaField, TextField } from '../ui/form.tsx'
import { providersQuery, setProvidersMutation } from './operations.ts'
import { useRecentLogins } from './recent-logins.ts'
import { type Issuer, linesOf, type Providers, type SignIn } from './sign-in.ts'

/** The members of `authProviders` that a change sets, from what is stored now. */
type Change = (current: Providers) => object

/** Faults of a request by the fields of a dialog: those of `authProviders.oidc.studio.issuer` are at `issuer`. */
function faultsWithin(prefix: string, faults: readonly Fault[]): readonly Fault[] {
  return faults.map(({ path, message }) => {
    const at = path.replace(/^input\./, '')
    if (at === prefix) return { path: 'name', message }
    return { path: at.startsWith(`${prefix}.`) ? at.slice(prefix.length + 1) : at, message }
  })
}

/** Changes one provider. What others have changed since the page was read stays, or is reported by the service. */
function useSetSignIn(prefix: string): (change: Change, reason: string, done: string) => Promise<ActionResult> {
  const client = useClient()
  const environment = useEnvironment()
  return async (change, reason, done) => {
    const read = await client.query(providersQuery, { environment }, { requestPolicy: 'network-only' })
    const [current] = read.data?.authProviders ?? []
    if (!current) return { error: read.error }
    const authProviders = JSON.stringify(change(current))
    const input = { environment, reason, expectedVersion: current.version, authProviders }
    const { data, error } = await client.mutation(setProvidersMutation, { input })
    return data?.setAuthProviders
      ? { done, auditEntry: data.setAuthProviders.auditEntry }
      : { error, faults: faultsWithin(`authProviders.${prefix}`, faultsOf(error)) }
  }
}

/** The settings of each issuer, as the service takes them. */
const issuersOf = (issuers: readonly Issuer[]): Record<string, object> =>
  Object.fromEntries(issuers.map(({ name, updatedAt: _, ...settings }) => [name, settings]))

const withoutEnd = (isEnabled: boolean, who: string): string =>
  isEnabled ? `From the next login on, ${who} can sign in.` : `From the next login on, ${who} cannot sign in.`

const WHO: Readonly<Record<SignIn['kind'], string>> = {
  google: 'players with an ID token of Google',
  apple: 'players with an ID token of Apple',
  oidc: 'players with an ID token of this issuer',
  device: 'guests',
}

export function EditSignIn(props: { readonly signIn: SignIn; readonly onClose: () => void }) {
  // As it was when the dialog was opened: the page may read it again meanwhile.
  const [{ kind, title, isEnabled, clients }] = useState(props.signIn)
  const environment = useEnvironment()
  const set = useSetSignIn(kind)
  const recent = useRecentLogins(isEnabled === null ? undefined : kind)
  const [wanted, setWanted] = useState(isEnabled ?? true)
  const [ids, setIds] = useState(clients.join('\n'))
  const clientIds = linesOf(ids)
  const isComplete = kind === 'device' || clientIds.length > 0
  const isChanged = wanted !== isEnabled || (kind !== 'device' && clientIds.join() !== clients.join())
  // Members that no login uses stay as they are.
  const change: Change = (current) =>
    kind === 'device' || kind === 'oidc'
      ? { device: { enabled: wanted } }
      : { [kind]: { ...(current[kind] as object | null), enabled: wanted, clientIds } }
  return (
    <ActionDialog
      title={`${isEnabled === null ? 'Set up' : 'Edit'} ${title}`}
      effect={
        isComplete && isChanged ? (
          <>
            <p>{withoutEnd(wanted, WHO[kind])}</p>
            {recent && <p>{recent}</p>}
            {isProduction(environment) && <p>{environment} has real players.</p>}
          </>
        ) : isComplete ? (
          'Nothing is changed yet.'
        ) : (
          'Fill in the fields to see what this will do.'
        )
      }
      confirm="Save"
      disabled={!isComplete || !isChanged}
      run={(reason) => set(change, reason, `${title} is saved.`)}
      onClose={props.onClose}
    >
      <CheckField label="Enabled" name="enabled" value={wanted} onChange={setWanted} />
      {kind !== 'device' && (
        <TextAreaField
          label="Client ids"
          name="clientIds"
          hint="The ids of your apps at the platform, one on each line: those of Android, iOS and the web."
          value={ids}
          onChange={setIds}
          rows={3}
          required
        />
      )}
    </ActionDialog>
  )
}

export function EditIssuer(props: { readonly signIn?: SignIn; readonly onClose: () => void }) {
  const [shown] = useState(props.signIn?.issuer)
  const environment = useEnvironment()
  const [name, setName] = useState(shown?.name ?? '')
  const set = useSetSignIn(`oidc.${name}`)
  const recent = useRecentLogins(shown && `oidc:${shown.name}`)
  const [enabled, setEnabled] = useState(shown?.enabled ?? true)
  const [issuer, setIssuer] = useState(shown?.issuer ?? '')
  const [ids, setIds] = useState(shown?.audiences.join('\n') ?? '')
  const [jwksUrl, setJwksUrl] = useState(shown?.jwksUrl ?? '')
  const [subjectClaim, setSubjectClaim] = useState(shown?.subjectClaim ?? 'sub')
  const [nicknameClaim, setNicknameClaim] = useState(shown?.nicknameClaim ?? '')
  const audiences = linesOf(ids)
  const isComplete = name !== '' && issuer !== '' && audiences.length > 0
  const settings = {
    enabled,
    issuer,
    audiences,
    jwksUrl: jwksUrl || null,
    subjectClaim: subjectClaim || null,
    nicknameClaim: nicknameClaim || null,
    maxAgeSeconds: shown?.maxAgeSeconds ?? null,
  }
  return (
    <ActionDialog
      title={shown ? `Edit ${shown.name}` : 'New issuer'}
      effect={
        isComplete ? (
          <>
            <p>{withoutEnd(enabled, `players with an ID token of ${issuer}`)}</p>
            {shown && shown.subjectClaim !== subjectClaim && (
              <p>Another claim names the player: players who signed in before become other players.</p>
            )}
            {recent && <p>{recent}</p>}
            {isProduction(environment) && <p>{environment} has real players.</p>}
          </>
        ) : (
          'Fill in the fields to see what this will do.'
        )
      }
      confirm="Save"
      disabled={!isComplete}
      run={(reason) => {
        const change: Change = (current) => ({ oidc: { ...issuersOf(current.oidc), [name]: settings } })
        return set(change, reason, `${name} is saved. Test it next.`)
      }}
      onClose={props.onClose}
    >
      {!shown && (
        <TextField
          label="Name"
          name="name"
          hint="Clients name it in their login."
          value={name}
          onChange={(value) => setName(value.trim())}
          required
        />
      )}
      <TextField
        label="Issuer"
        name="issuer"
        type="url"
        hint="Exactly as its tokens name it (iss)."
        placeholder="https://id.studio.example"
        value={issuer}
        onChange={(value) => setIssuer(value.trim())}
        required
      />
      <TextAreaField
        label="Audiences"
        name="audiences"
        hint="The ids of your clients at the issuer, one on each line."
        value={ids}
        onChange={setIds}
        rows={2}
        required
      />
      <CheckField label="Enabled" name="enabled" value={enabled} onChange={setEnabled} />
      <TextField
        label="Address of the keys"
        name="jwksUrl"
        type="url"
        hint="Empty: the issuer’s configuration names it."
        value={jwksUrl}
        onChange={(value) => setJwksUrl(value.trim())}
      />
      <TextField
        label="Claim that names the player"
        name="subjectClaim"
        value={subjectClaim}
        onChange={(value) => setSubjectClaim(value.trim())}
      />
      <TextField
        label="Claim with the nickname"
        name="nicknameClaim"
        hint="Empty: the client names the player."
        value={nicknameClaim}
        onChange={(value) => setNicknameClaim(value.trim())}
      />
    </ActionDialog>
  )
}

export function RemoveIssuer({ signIn, onClose }: { signIn: SignIn; onClose: () => void }) {
  const [{ title, provider }] = useState(signIn)
  const environment = useEnvironment()
  const set = useSetSignIn(`oidc.${title}`)
  const recent = useRecentLogins(provider)
  return (
    <ActionDialog
      title={`Remove ${title}`}
      effect={
        <>
          <p>From the next one on, logins through {title} fail.</p>
          <p>Players and their identities stay: with an issuer of the same name they log in again.</p>
          {recent && <p>{recent}</p>}
          {isProduction(environment) && <p>{environment} has real players.</p>}
        </>
      }
      confirm="Remove"
      tone="danger"
      run={(reason) => {
        const change: Change = (current) => ({ oidc: issuersOf(current.oidc.filter(({ name }) => name !== title)) })
        return set(change, reason, `${title} is removed.`)
      }}
      onClose={onClose}
    />
  )
}
