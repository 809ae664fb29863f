import { useEffect, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { codeOf, type Fault, faultsOf, textOf } from '../ui/errors.ts'
import { Fields, type FormField, useFields } from '../ui/fields.tsx'
import { Form, SubmitButton } from '../ui/form.tsx'
import { Loading, Notice } from '../ui/states.tsx'
import { keepText } from '../ui/storage.ts'
import { createKeyClient } from './client.ts'
import { createTokenMutation } from './operations.ts'
import { ROLES, type Role } from './roles.ts'
import { beginSession, readToken, type Session, sessionEnding } from './session.ts'
import { readOption, type SignOnOption, startHref } from './sign-on.ts'

const HOURS = [1, 4, 8, 12]
const OTHER_PROJECT = 'This platform key belongs to another project. Sign out to sign in there.'
const UNKNOWN_KEY = 'This platform key is unknown or revoked.'

/** The studio's own account where that is set up, else a platform key. */
export function SignIn() {
  const ending = sessionEnding()
  return (
    <main className="sign-in">
      <img src={icon} alt="" width="48" height="48" />
      <h1>Tierway console</h1>
      {ending !== null && <Notice tone="info">{ending}</Notice>}
      <SignInForms />
    </main>
  )
}

/** Both ways to sign in. With `renewed` they renew that session: single sign-on has a window of its own. */
export function SignInForms({ renewed }: { readonly renewed?: Session }) {
  const option = useOption(renewed?.projectId)
  if (option === undefined) return <Loading />
  if (option === null) return <KeyForm renewed={renewed} />
  const title = `Sign in with ${option.title}`
  return (
    <>
      {renewed ? (
        <Button
          tone="primary"
          onClick={() => window.open(startHref(option, true), '_blank', 'popup,width=600,height=720')}
        >
          {title}
        </Button>
      ) : (
        <a className="button primary" href={startHref(option)}>
          {title}
        </a>
      )}
      <details>
        <summary>Sign in with a platform key</summary>
        <KeyForm renewed={renewed} />
      </details>
    </>
  )
}

/** Undefined until it is known. A service that is away has none. */
function useOption(projectId: string | undefined): SignOnOption | null | undefined {
  const [option, setOption] = useState<SignOnOption | null>()
  useEffect(() => {
    readOption(projectId).then(setOption, () => setOption(null))
  }, [projectId])
  return option
}

const FIELDS = [
  {
    name: 'key',
    label: 'Platform key',
    hint: 'It starts with twplat_. It is exchanged for a token of this browser, and not kept.',
    type: 'password',
    autoComplete: 'off',
    required: true,
    autoFocus: true,
  },
  {
    name: 'actor',
    label: 'Your name',
    hint: 'The audit log names you with each change.',
    autoComplete: 'username',
    required: true,
  },
  {
    kind: 'choice',
    name: 'role',
    label: 'Role',
    hint: 'Choose less than the role of the key where that is enough.',
    options: [['', 'that of the key'], ...ROLES.map((one) => [one, one.toLowerCase()] as const)],
  },
  {
    kind: 'choice',
    name: 'hours',
    label: 'Sign out after',
    options: HOURS.map((one) => [String(one), one === 1 ? '1 hour' : `${one} hours`]),
  },
] as const satisfies readonly FormField<Record<string, string>>[]

/**
 * Exchanges a platform key for an operator token with a name. The page forgets the key at once: the token is bounded by
 * its role and its lifetime, and the audit log names its person.
 */
function KeyForm({ renewed }: { readonly renewed: Session | undefined }) {
  const fields = useFields(() => ({
    key: '',
    actor: renewed?.actor ?? localStorage.getItem('tierway.actor') ?? '',
    role: (renewed?.role ?? '') as Role | '',
    hours: '1',
  }))
  const { key, actor, role, hours } = fields.values
  const [fault, setFault] = useState<string | null>(null)
  const [faults, setFaults] = useState<readonly Fault[]>([])

  async function submit(): Promise<void> {
    setFault(null)
    setFaults([])
    // No key has other characters. The browser could not send them, which would look like a service that is away.
    if (!/^[\x21-\x7e]+$/.test(key.trim())) return setFault(UNKNOWN_KEY)
    const input = {
      actor,
      role: role || undefined,
      expiresInSeconds: Number(hours) * 3600,
      reason: 'sign-in to the console',
    }
    const { data, error } = await createKeyClient(key.trim()).mutation(createTokenMutation, { input })
    const token = data?.createOperatorToken?.token
    if (token !== undefined) {
      // The page of another project would replace this one.
      if (renewed && readToken(token).projectId !== renewed.projectId) return setFault(OTHER_PROJECT)
      keepText(localStorage, 'tierway.actor', actor)
      beginSession(token)
      return
    }
    if (!error) return
    const faulty = faultsOf(error)
    setFaults(faulty)
    if (codeOf(error) === 'INVALID_TOKEN') setFault(UNKNOWN_KEY)
    else if (faulty.length === 0) setFault(textOf(error))
  }

  return (
    <>
      <Form onSubmit={submit} faults={faults} onChange={() => setFault(null)}>
        <Fields of={fields} list={FIELDS} />
        {fault !== null && <Notice tone="error">{fault}</Notice>}
        <SubmitButton>Sign in</SubmitButton>
      </Form>
      <p className="muted">
        In development, the service prints a link that is signed in already when it starts. In production,{' '}
        <code>npx tierway key create --kind platform</code> makes a key.
      </p>
    </>
  )
}

const icon = new URL('../../icon.svg', import.meta.url).href
