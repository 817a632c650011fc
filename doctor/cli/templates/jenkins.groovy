// Written by `doctor init jenkins`. Edit it as you like.
// canary-doctor is not on a package index yet: put the path or git URL of a checkout, or your own index.
pipeline {
    // On a node with a GPU, add --expect cuda. On one without, declare the GPU that the code will run on:
    // --assume gpu=sm_90,driver=580.95
    agent any
    options { timeout(time: 30, unit: 'MINUTES') }
    stages {
        stage('doctor') {
            steps {
                sh '''
                    @INSTALL@
                    python3 -m venv .doctor
                    .doctor/bin/python -m pip install "canary-doctor==@VERSION@"
                    .doctor/bin/doctor check --python .venv \
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
