// Written by `doctor init jenkins`, and yours from now on.
pipeline {
    agent any // on a node with your GPU, take --expect cuda instead of --assume
    options { timeout(time: 30, unit: 'MINUTES') }
    stages {
        stage('doctor') {
            steps {
                sh '''
                    python3 -m venv .venv
                    .venv/bin/python -m pip install -r requirements.txt
                    python3 -m venv .doctor
                    .doctor/bin/python -m pip install "canary-doctor==@VERSION@"
                    .doctor/bin/doctor check --python .venv --assume gpu=sm_90,driver=570.86 \
                        --report junit=doctor.xml --report html=doctor.html
                '''
            }
            post {
                always {
                    junit testResults: 'doctor.xml', allowEmptyResults: true
                    archiveArtifacts artifacts: 'doctor.html', allowEmptyArchive: true
                }
            }
        }
    }
}
