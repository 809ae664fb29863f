import { words } from '../ui/words.ts'

const TONES = { ACTIVE: 'good', BANNED: 'bad', DELETED: 'warn' } as const

export const StatusBadge = ({ status }: { status: keyof typeof TONES }) => (
  <span className={`badge ${TONES[status]}`}>{words(status)}</span>
)
