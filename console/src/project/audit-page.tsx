import { Page } from '../ui/page.tsx'

export default function AuditPage() {
  return <Page title="Audit log">{null}</Page>
}
